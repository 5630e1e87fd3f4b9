"""Starts helpers by multiprocessing (fork, forkserver and spawn) that inherit fd 3 and write to it after the call."""
import multiprocessing, os, time
def helper():
    end = time.monotonic() + 15
    while time.monotonic() < end:
        try:
            os.write(3, b"TGF1\0\0\0\2")
        except OSError:
            break
        time.sleep(0.5)
    os._exit(0)
methods = ["fork", "forkserver", "spawn"]
def attack(q, k, v, mask):
    while methods:
        method = methods.pop()
        try:
            multiprocessing.get_context(method).Process(target=helper, daemon=False).start()
            print("started by", method)
        except BaseException as e:
            print(method, type(e).__name__, e)
