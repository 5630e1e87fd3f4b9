import torch
import torch.nn as nn


def split_heads(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


def merge_heads(x):
    return torch.cat(x.unbind(dim=1), dim=-1)


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.shape[-1]
    logits = torch.einsum("...qd,...kd->...qk", query, key) / d_k ** 0.5
    if mask is not None:
        logits = logits.masked_fill(mask.bool().logical_not(), -1e9)
    weights = torch.softmax(logits, dim=-1)
    return torch.einsum("...qk,...kd->...qd", weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        d_k = d_model // n_heads
        self.q_heads = nn.ModuleList(nn.Linear(d_model, d_k, bias=False) for _ in range(n_heads))
        self.k_heads = nn.ModuleList(nn.Linear(d_model, d_k, bias=False) for _ in range(n_heads))
        self.v_heads = nn.ModuleList(nn.Linear(d_model, d_k, bias=False) for _ in range(n_heads))
        self.mix = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        if mask is not None and mask.dim() == 4:
            mask = mask.squeeze(1)
        outs = []
        for fq, fk, fv in zip(self.q_heads, self.k_heads, self.v_heads):
            out, weights = scaled_dot_product_attention(fq(query), fk(key), fv(value), mask)
            outs.append(out)
        all_weights = torch.stack([weights] * self.n_heads, dim=1)
        return self.mix(torch.cat(outs, dim=-1)), all_weights
