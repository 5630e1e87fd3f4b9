"""Looks through its own descriptors for anything leaked by the zygote (folders, logs, pipes) and climbs out through open folders."""
import os, stat
for fd in range(0, 1024):
    try:
        st = os.fstat(fd)
    except OSError:
        continue
    try:
        link = os.readlink(f"/proc/self/fd/{fd}")
    except OSError as e:
        link = str(e)
    print("open", fd, oct(st.st_mode), link)
    if stat.S_ISDIR(st.st_mode):
        try:
            up = os.open("../../../../..", os.O_RDONLY, dir_fd=fd)
            print("climbed:", os.listdir(up))
        except OSError as e:
            print(fd, e)
    elif stat.S_ISREG(st.st_mode):
        try:
            print("leaked file:", os.pread(fd, 200, 0))
        except OSError as e:
            print(fd, e)
