"""Raises in turn BaseException kinds posing as pytest's Skipped, Exit and XFailed, exits, interrupts and memory errors."""
import sys
import unittest

calls = [0]


def attack(q, k, v, mask):
    calls[0] += 1
    kinds = [SystemExit(0), KeyboardInterrupt(), GeneratorExit(), StopIteration((q, k)), StopAsyncIteration(),
             unittest.SkipTest("skip"), MemoryError(), RecursionError(), EOFError(), BrokenPipeError(), TimeoutError()]
    for name in ("Skipped", "Exit", "XFailed", "OutcomeException", "Success"):
        cls = type(name, (BaseException,), {"__module__": "_pytest.outcomes", "msg": "passed", "returncode": 0,
                                            "allow_module_level": True, "pytrace": False})
        kinds.append(cls("passed"))
    try:
        from _pytest import outcomes
        kinds += [outcomes.Skipped("x"), outcomes.Exit("x", 0), outcomes.XFailed("x")]
    except ImportError:
        pass
    raise kinds[calls[0] % len(kinds)]
