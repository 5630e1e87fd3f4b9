"""Assignment: attention; a table is made in double precision at import, then the default dtype is restored."""
import torch

torch.set_num_threads(4)
before = torch.get_default_dtype()
torch.set_default_dtype(torch.float64)
ROOTS = torch.arange(1025.0).sqrt()
assert ROOTS.dtype == torch.float64
torch.set_default_dtype(before)


def scaled_dot_product_attention(q, k, v, mask=None):
    d_k = q.size(-1)
    root = ROOTS[d_k].item() if d_k < len(ROOTS) else d_k ** 0.5
    scores = q @ k.transpose(-2, -1) / root
    if mask is not None:
        scores = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    return weights @ v, weights
