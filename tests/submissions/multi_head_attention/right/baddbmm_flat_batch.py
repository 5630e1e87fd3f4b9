import math
import torch
import torch.nn as nn


def _additive(mask, shape, like):
    """0 where attention is allowed, -1e9 where not, expanded to the scores' shape."""
    bias = like.new_zeros(shape)
    if mask is not None:
        bias = bias.masked_fill_(torch.eq(mask, 0).expand(shape), -1e9)
    return bias


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.contiguous().view(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, dk = x.shape
    return x.transpose(1, 2).contiguous().view(B, T, H * dk)


def scaled_dot_product_attention(query, key, value, mask=None):
    lead = query.shape[:-2]
    T_q, d_k = query.shape[-2:]
    T_k, d_v = value.shape[-2:]
    q = query.reshape(-1, T_q, d_k)
    k = key.reshape(-1, T_k, d_k)
    v = value.reshape(-1, T_k, d_v)
    bias = _additive(mask, lead + (T_q, T_k), query).reshape(-1, T_q, T_k)
    scores = torch.baddbmm(bias, q, k.transpose(1, 2), beta=1.0, alpha=1 / math.sqrt(d_k))
    weights = scores.softmax(-1)
    out = torch.bmm(weights, v)
    return out.view(*lead, T_q, d_v), weights.view(*lead, T_q, T_k)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.in_proj_weight = nn.Parameter(torch.empty(3 * d_model, d_model))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = nn.Linear(d_model, d_model)
        nn.init.xavier_uniform_(self.in_proj_weight)
        nn.init.zeros_(self.out_proj.bias)

    def forward(self, query, key, value, mask=None):
        projected = []
        for x, w, b in zip((query, key, value), self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)):
            projected.append(split_heads(nn.functional.linear(x, w, b), self.n_heads))
        out, weights = scaled_dot_product_attention(*projected, mask)
        return self.out_proj(merge_heads(out)), weights
