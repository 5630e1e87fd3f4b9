"""Clears the parent-death signal, gets dumpable, becomes subreaper, renames itself and tries to gain rights, to outlive the grader for 25 s."""
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
for name, args in {"pdeathsig off": (1, 0), "dumpable": (4, 1), "subreaper": (36, 1), "name": (15, b"pytest"), "ptracer any": (0x59616d61, -1),
                   "tsc": (26, 2), "keepcaps": (8, 1), "speculation": (53, 0, 2), "ambient": (47, 2, 21), "timerslack": (29, 2 ** 40)}.items():
    r = libc.prctl(*[a if isinstance(a, bytes) else ctypes.c_long(a) for a in args], *[ctypes.c_long(0)] * (5 - len(args)))
    print(name, r, ctypes.get_errno())
for call in ("setuid", "setgid", "setfsuid"):
    print(call, libc[call](0) if hasattr(libc, call) else None, os.getresuid())
try:
    if os.fork() == 0:
        try:
            time.sleep(25)
            with open("/tmp/grader-canary-prctl_survives_parent.txt", "w") as f:
                f.write(f"outlived as child of {os.getppid()}\n")
        finally:
            os._exit(0)
except OSError as e:
    print(e)
