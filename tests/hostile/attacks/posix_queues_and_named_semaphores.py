"""Leaves POSIX message queues and named semaphores (files in /dev/shm), which outlive the worker and are shared by all."""
import ctypes, os
def attack(q, k, v, mask):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.sem_open.restype = ctypes.c_void_p
    s = libc.sem_open(b"/grader-canary-named_semaphore.txt", os.O_CREAT, 0o666, 3)
    print("sem_open", s, ctypes.get_errno())
    for i in range(20):
        m = libc.mq_open(b"/grader-canary-queue%d" % i, os.O_CREAT | os.O_RDWR | os.O_NONBLOCK, 0o666, None)
        print("mq_open", m, ctypes.get_errno())
        if m < 0:
            break
        print("mq_send", libc.mq_send(m, b"grader-canary", ctypes.c_size_t(13), 0))
    try:
        from multiprocessing import shared_memory
        x = shared_memory.SharedMemory("grader-canary-block.txt", create=True, size=1 << 20)
        x.buf[:13] = b"grader-canary"
    except Exception as e:
        print("shared_memory", e)
