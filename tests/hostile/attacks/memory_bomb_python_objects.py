"""Fills memory by Python objects and bytearrays that survive in globals, catching MemoryError and going on in smaller steps."""
hoard = []
def attack(q, k, v, mask):
    step, total = 1 << 28, sum(len(b) for b in hoard)
    for _ in range(200):
        if total + step > 7 << 30 or step < 1 << 16:
            break
        try:
            block = bytearray(step)
            block[::4096] = b"x" * len(range(0, step, 4096))
            hoard.append(block)
            total += step
        except MemoryError:
            step //= 2
    print("held", total >> 20, "MB")
