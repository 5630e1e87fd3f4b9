"""Starts 500 threads with large stacks that outlive the call, a few of them busy daemons, to leave no thread to the library."""
import threading, time
threading.stack_size(8 << 20)
def spin():
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pass
def attack(q, k, v, mask):
    n = 0
    for _ in range(500 - threading.active_count()):
        try:
            threading.Thread(target=spin if n < 16 else lambda: time.sleep(60), daemon=n < 16).start()
            n += 1
        except (RuntimeError, MemoryError) as e:
            print("threads:", n, e)
            break
