"""Starts 200 sleeping processes that ignore SIGTERM and hold the socket, to use up the process limit for the neighbours."""
import os, signal, time
count = 0
for _ in range(200):
    try:
        pid = os.fork()
    except OSError as e:
        print("stopped at", count, e)
        break
    if pid == 0:
        try:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(30)
        finally:
            os._exit(0)
    count += 1
print("forked", count)
