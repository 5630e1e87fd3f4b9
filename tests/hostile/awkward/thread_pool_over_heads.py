"""Assignment: attention, with two threads that share the heads."""
import math
from concurrent.futures import ThreadPoolExecutor
import torch


def one_head(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ v, weights


def scaled_dot_product_attention(q, k, v, mask=None):
    if q.dim() < 4:
        return one_head(q, k, v, mask)
    n_heads = q.size(1)
    if mask is not None:
        mask = mask.expand(q.size(0), n_heads, q.size(2), k.size(2))
    grad = torch.is_grad_enabled()

    def job(h):
        with torch.set_grad_enabled(grad):
            return one_head(q[:, h], k[:, h], v[:, h], None if mask is None else mask[:, h])

    with ThreadPoolExecutor(max_workers=2) as pool:
        heads = list(pool.map(job, range(n_heads)))
    return torch.stack([o for o, _ in heads], dim=1), torch.stack([w for _, w in heads], dim=1)
