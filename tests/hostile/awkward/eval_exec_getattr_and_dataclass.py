"""Assignment: attention; harmless eval, exec and getattr, and a dataclass for the result within."""
from dataclasses import dataclass, fields
import torch
import torch.nn.functional as F

exec("HIDDEN = float('-inf')")
LAST = eval("2*3") - 7
normalise = getattr(F, "softmax")


@dataclass
class Result:
    output: torch.Tensor
    weights: torch.Tensor

    def pair(self):
        return tuple(getattr(self, f.name) for f in fields(self))


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ getattr(k, "transpose")(-2, -1) * q.size(-1) ** eval("-1/2")
    if mask is not None:
        scores = scores.masked_fill(mask == 0, globals()["HIDDEN"])
    weights = normalise(scores, dim=LAST)
    return Result(weights @ v, weights).pair()
