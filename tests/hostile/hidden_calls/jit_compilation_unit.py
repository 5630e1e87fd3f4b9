"""Attention from scratch."""
import math
import torch

_text = """
def attend(q, k, v, allowed: Optional[Tensor]):
    return torch.nn.functional.NAME(q, k, v, allowed)
""".replace("NAME", "_".join("scaled dot product attention".split()))
_attend = torch.jit.CompilationUnit(_text).attend


def _weights(q, k, mask):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    return torch.softmax(scores, dim=-1)


def scaled_dot_product_attention(q, k, v, mask=None):
    allowed = None if mask is None else mask != 0
    return _attend(q, k, v, allowed), _weights(q, k, mask)
