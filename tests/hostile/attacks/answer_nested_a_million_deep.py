"""Answers lists, tuples and dicts nested a million deep, to overflow the stack of whoever walks, encodes or decodes them."""
calls = [0]


def attack(q, k, v, mask):
    calls[0] += 1
    deep = q
    for _ in range(10 ** 6):
        deep = [deep] if calls[0] % 3 == 0 else (deep,) if calls[0] % 3 == 1 else {"x": deep}
    return deep, deep
