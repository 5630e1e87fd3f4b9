"""Raises a different exception outside of Exception on every call, to get past `except Exception` in the worker."""
import asyncio
class Quiet(BaseException):
    pass
kinds = [KeyboardInterrupt, GeneratorExit, SystemExit, Quiet, asyncio.CancelledError, StopIteration, MemoryError]
turn = [0]
def attack(q, k, v, mask):
    turn[0] += 1
    raise kinds[turn[0] % len(kinds)]()
