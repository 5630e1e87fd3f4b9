import torch
import torch.nn as nn


def split_heads(x, n_heads):
    bsz, seq, dim = x.shape
    return torch.einsum("bthd->bhtd", x.reshape(bsz, seq, n_heads, dim // n_heads))


def merge_heads(x):
    bsz, h, seq, d = x.shape
    return torch.einsum("bhtd->bthd", x).reshape(bsz, seq, h * d)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.mm(query, key.t()) / query.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = scores.softmax(dim=-1)
    return torch.mm(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.Wq = nn.Linear(d_model, d_model, bias=False)
        self.Wk = nn.Linear(d_model, d_model, bias=False)
        self.Wv = nn.Linear(d_model, d_model, bias=False)
        self.Wo = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.Wq(query), self.n_heads)
        k = split_heads(self.Wk(key), self.n_heads)
        v = split_heads(self.Wv(value), self.n_heads)
        B, H, Tq, _ = q.shape
        if mask is not None:
            mask = mask.expand(B, 1, Tq, k.size(2))
        pairs = [[scaled_dot_product_attention(q[b, h], k[b, h], v[b, h], None if mask is None else mask[b, 0])
                  for h in range(H)] for b in range(B)]
        out = torch.stack([torch.stack([p[0] for p in row]) for row in pairs])
        weights = torch.stack([torch.stack([p[1] for p in row]) for row in pairs])
        return self.Wo(merge_heads(out)), weights
