"""Slow but clear: loops over the queries in the attention, over batch and heads in the layer."""
import torch
import torch.nn as nn


def split_heads(x, n_heads):
    d_k = x.shape[2] // n_heads
    heads = []
    for i in range(n_heads):
        heads.append(x[:, :, i * d_k:(i + 1) * d_k].unsqueeze(1))
    return torch.cat(heads, dim=1)


def merge_heads(x):
    pieces = [x[:, i] for i in range(x.shape[1])]
    return torch.cat(pieces, dim=-1)


def scaled_dot_product_attention(query, key, value, mask=None):
    T_q, T_k = query.shape[-2], key.shape[-2]
    if mask is not None:
        # bring the mask to the full shape first, then it can be indexed by the query
        lead = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2])
        mask = mask.bool().expand(*lead, T_q, T_k)
    outs, rows = [], []
    for i in range(T_q):
        one = query[..., i, :]                                   # (..., d_k)
        score = (key * one.unsqueeze(-2)).sum(dim=-1) / one.shape[-1] ** 0.5
        if mask is not None:
            score = torch.where(mask[..., i, :], score, torch.full_like(score, float("-inf")))
        row = torch.exp(score - score.max(dim=-1, keepdim=True).values)
        row = row / row.sum(dim=-1, keepdim=True)
        rows.append(row)
        outs.append((row.unsqueeze(-1) * value).sum(dim=-2))
    return torch.stack(outs, dim=-2), torch.stack(rows, dim=-2)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0, 'not divisible'
        self.n_heads = n_heads
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=True)

    def forward(self, query, key, value, mask=None):
        B = query.shape[0]
        Q = split_heads(self.W_q(query), self.n_heads)
        K = split_heads(self.W_k(key), self.n_heads)
        V = split_heads(self.W_v(value), self.n_heads)
        if mask is not None:
            while mask.dim() < 4:
                mask = mask.unsqueeze(0)
            mask = mask.expand(B, 1, -1, -1)
        out_batch, w_batch = [], []
        for b in range(B):
            out_h, w_h = [], []
            for h in range(self.n_heads):
                o, w = scaled_dot_product_attention(
                    Q[b, h], K[b, h], V[b, h], None if mask is None else mask[b, 0])
                out_h.append(o)
                w_h.append(w)
            out_batch.append(torch.cat(out_h, dim=-1))
            w_batch.append(torch.stack(w_h))
        return self.W_o(torch.stack(out_batch)), torch.stack(w_batch)
