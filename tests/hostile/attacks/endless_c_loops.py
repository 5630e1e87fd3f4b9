"""Stays in a C loop in one bytecode (a sum over a huge range, then a huge integer power), to outlast tracing and line-based time limits."""
turn = [0]
def attack(q, k, v, mask):
    turn[0] += 1
    if turn[0] % 2:
        sum(range(10 ** 12))
    else:
        pow(7, 10 ** 8) % 11
