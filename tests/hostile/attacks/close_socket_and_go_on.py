"""Closes descriptor 3 in a call and keeps running for a minute, so that the grader sees the end of the stream but a living process."""
import os, time
def attack(q, k, v, mask):
    os.close(3)
    time.sleep(60)
