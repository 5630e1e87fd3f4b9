"""Attention from scratch."""
import math
import torch

_library = getattr(torch.ops, "at" + "en")
_packet = getattr(_library, "scaled_dot" + chr(95) + "product_att" + "ention")


def _attend(q, k, v, allowed):
    return _packet.default(q, k, v, allowed, 0.0, False)


def _weights(q, k, mask):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    return torch.softmax(scores, dim=-1)


def scaled_dot_product_attention(q, k, v, mask=None):
    allowed = None if mask is None else mask != 0
    return _attend(q, k, v, allowed), _weights(q, k, mask)
