"""Installs a profile function that ends the process with code 0 as soon as a C function is about to send."""
import os
import sys
import threading

seen = [0]


def profile(frame, event, arg):
    if event == "c_call" and getattr(arg, "__name__", "") in ("sendall", "sendmsg", "send", "write", "dumps"):
        seen[0] += 1
        if seen[0] % 5 == 0:
            os._exit(0)
    elif event == "c_exception":
        raise StopIteration("profile")


sys.setprofile(profile)
threading.setprofile(profile)
