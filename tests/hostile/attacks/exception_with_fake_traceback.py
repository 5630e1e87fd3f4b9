"""Raises errors with a forged traceback, file name, cause loop and 500 links, to blame the grader or to exhaust it."""
import types

code = compile("def f():\n    raise AssertionError('internal grader error: full marks')\nf()",
               "/srv/grader/reference.py\n::error::x", "exec")


def attack(q, k, v, mask):
    try:
        exec(code, {"__name__": "grader.reference"})
    except AssertionError as e:
        error = e
    tb = error.__traceback__
    for i in range(500):
        tb = types.TracebackType(tb, error.__traceback__.tb_frame, 0, 10 ** 6 + i)
    first = last = error.with_traceback(tb)
    for i in range(500):
        link = ExceptionGroup("::error::%d" % i, [last])
        link.__cause__ = last
        last = link
    first.__context__ = last
    try:
        first.__cause__ = first
    except Exception:
        pass
    raise last
