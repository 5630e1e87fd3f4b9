"""Calls rarely needed system calls (io_uring, userfaultfd, bpf, perf, keys, personality, modify_ldt, open_by_handle) and reports which ones work."""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
z = ctypes.c_long(0)
buf = ctypes.create_string_buffer(256)
attr = ctypes.create_string_buffer(b"\x01\0\0\0" + b"\x70\0\0\0", 112)
calls = {
    "io_uring_setup": (425, ctypes.c_long(4), buf), "userfaultfd": (323, z), "userfaultfd_user": (323, ctypes.c_long(1)),
    "bpf": (321, z, ctypes.create_string_buffer(b"\x02\0\0\0\x04\0\0\0\x04\0\0\0\x01\0\0\0", 72), ctypes.c_long(72)),
    "perf_event_open": (298, attr, z, ctypes.c_long(-1), ctypes.c_long(-1), z),
    "add_key": (248, b"user", b"grader-canary", b"x", ctypes.c_long(1), ctypes.c_long(-4)),
    "keyctl": (250, z, ctypes.c_long(-3), z), "personality": (135, ctypes.c_long(0x0040000)),
    "modify_ldt": (154, z, buf, ctypes.c_long(64)), "name_to_handle_at": (303, ctypes.c_long(-100), b"/", buf, buf, z),
    "fanotify_init": (300, z, z), "fsopen": (430, b"tmpfs", z), "open_tree": (428, ctypes.c_long(-100), b"/", ctypes.c_long(1)),
    "landlock": (444, z, z, ctypes.c_long(1)), "seccomp_notify": (317, ctypes.c_long(3), z, buf),
}
def attack(q, k, v, mask):
    for name, args in calls.items():
        r = libc.syscall(ctypes.c_long(args[0]), *args[1:])
        print("WORKS" if r >= 0 else "no", name, r, os.strerror(ctypes.get_errno()))
