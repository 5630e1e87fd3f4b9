"""Exits with status 0 from a thread 1.5 s later, so that the end falls into another check or between two of them."""
import os, threading
t = threading.Timer(1.5, lambda: os._exit(0))
t.daemon = True
t.start()
