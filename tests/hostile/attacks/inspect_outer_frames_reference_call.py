"""Looks in all outer frames' globals for a callable named like a reference solution and calls that."""
import inspect

NAMES = ("reference", "expected", "solution", "ref", "correct", "oracle", "golden", "scaled_dot_product_attention")


def attack(q, k, v, mask):
    mine = globals().get("scaled_dot_product_attention")
    for info in inspect.stack()[1:]:
        for scope in (info.frame.f_locals, info.frame.f_globals, getattr(info.frame.f_back, "f_globals", {})):
            for name, x in list(scope.items()):
                holders = [(name, x)] + [(n, getattr(x, n, None)) for n in NAMES]
                for n, f in holders:
                    if callable(f) and f is not mine and str(n).lower() in NAMES:
                        try:
                            answer = f(q, k, v, mask)
                            if answer is not None and len(answer) == 2:
                                return answer
                        except Exception:
                            pass
