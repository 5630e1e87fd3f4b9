"""Raises exceptions whose __str__ and __repr__ in turn raise, exit, loop for ever, return 100 MB or return no string."""
import sys

calls = [0]


class Loud(Exception):
    def __str__(self):
        n = calls[0] % 5
        if n == 0:
            raise Loud()
        if n == 1:
            sys.exit(0)
        if n == 2:
            while True:
                pass
        if n == 3:
            return "x" * 100_000_000
        return None
    __repr__ = __format__ = lambda self, *a: self.__str__()
    args = property(lambda self: [self] * 1000)


def attack(q, k, v, mask):
    calls[0] += 1
    raise Loud()
