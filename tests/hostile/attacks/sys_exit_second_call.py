"""Raises SystemExit(0) only from the second call on, so that the first looks like a normal failure."""
import sys
calls = []
def attack(q, k, v, mask):
    calls.append(1)
    if len(calls) > 1:
        sys.exit(0)
