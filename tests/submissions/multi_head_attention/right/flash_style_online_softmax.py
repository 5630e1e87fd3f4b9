"""Attention in key blocks with a running maximum and a running sum (like FlashAttention).

The full weight matrix is put together at the end from the log-sum-exp.
"""
import torch
import torch.nn as nn

BLOCK = 4
print("flash-style attention, block size", BLOCK)


def split_heads(x, n_heads):
    return x.view(*x.shape[:-1], n_heads, x.shape[-1] // n_heads).transpose(-3, -2) if x.is_contiguous() \
        else split_heads(x.contiguous(), n_heads)


def merge_heads(x):
    return x.transpose(-3, -2).contiguous().view(x.shape[0], x.shape[2], -1)


def scaled_dot_product_attention(query, key, value, mask=None, block: int = BLOCK):
    n_k = key.size(-2)
    scale = query.size(-1) ** -0.5
    if mask is not None:
        mask = mask.bool()
    acc = lse = None
    pieces = []
    for start in range(0, n_k, block):
        sl = slice(start, min(start + block, n_k))
        s = query @ key[..., sl, :].transpose(-1, -2) * scale
        if mask is not None:
            s = s.masked_fill(mask[..., sl].logical_not(), -1e30)
        pieces.append(s)
        this_lse = s.logsumexp(-1, keepdim=True)
        this_out = (s - this_lse).exp() @ value[..., sl, :]
        if acc is None:
            acc, lse = this_out, this_lse
        else:
            new = torch.logaddexp(lse, this_lse)
            acc = acc * (lse - new).exp() + this_out * (this_lse - new).exp()
            lse = new
    weights = (torch.cat(pieces, -1) - lse).exp()
    return acc, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, block=BLOCK):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads, self.block = n_heads, block
        self.project = nn.ModuleDict({n: nn.Linear(d_model, d_model, bias=False) for n in "qkvo"})

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.project["q"](query), self.n_heads)
        k = split_heads(self.project["k"](key), self.n_heads)
        v = split_heads(self.project["v"](value), self.n_heads)
        out, w = scaled_dot_product_attention(q, k, v, mask, self.block)
        return self.project["o"](merge_heads(out)), w
