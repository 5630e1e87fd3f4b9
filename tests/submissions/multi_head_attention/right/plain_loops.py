# I don't trust broadcasting yet, so everything is a loop.
import torch
import torch.nn as nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    d_k = D // n_heads
    result = []
    for b in range(B):
        rows = []
        for h in range(n_heads):
            rows.append(x[b, :, h * d_k:h * d_k + d_k])
        result.append(torch.stack(rows))
    return torch.stack(result)


def merge_heads(x):
    result = []
    for sample in x:
        result.append(torch.cat([head for head in sample], dim=1))
    return torch.stack(result)


def scaled_dot_product_attention(query, key, value, mask=None):
    if query.dim() > 2:
        outs, ws = [], []
        for i in range(query.shape[0]):
            m = mask
            if mask is not None and mask.dim() == query.dim():
                m = mask[i] if mask.shape[0] > 1 else mask[0]
            o, w = scaled_dot_product_attention(query[i], key[i], value[i], m)
            outs.append(o)
            ws.append(w)
        return torch.stack(outs), torch.stack(ws)
    scale = query.shape[1] ** 0.5
    rows = []
    for i in range(query.shape[0]):
        scores = (key * query[i]).sum(dim=1) / scale
        if mask is not None:
            allowed = mask[i if mask.shape[0] > 1 else 0].bool()
            scores = scores.masked_fill(~allowed, float("-inf"))
        rows.append(torch.softmax(scores, dim=0))
    weights = torch.stack(rows)
    return torch.stack([(w[:, None] * value).sum(dim=0) for w in rows]), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model % n_heads must be 0")
        self.n_heads = n_heads
        self.q_lin = nn.Linear(d_model, d_model, bias=False)
        self.k_lin = nn.Linear(d_model, d_model, bias=False)
        self.v_lin = nn.Linear(d_model, d_model, bias=False)
        self.o_lin = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.q_lin(query), self.n_heads)
        k = split_heads(self.k_lin(key), self.n_heads)
        v = split_heads(self.v_lin(value), self.n_heads)
        o, w = scaled_dot_product_attention(q, k, v, mask)
        return self.o_lin(merge_heads(o)), w
