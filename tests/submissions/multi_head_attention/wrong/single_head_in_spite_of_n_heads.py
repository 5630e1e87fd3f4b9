import torch
import torch.nn as nn


def split_heads(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


def merge_heads(x):
    return torch.cat(x.unbind(dim=1), dim=-1)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1))
    scores = scores * (1.0 / query.size(-1) ** 0.5)
    if mask is not None:
        bias = torch.zeros_like(mask, dtype=scores.dtype)
        scores = scores + bias.masked_fill(mask == 0, float("-inf"))
    scores = scores - scores.max(dim=-1, keepdim=True).values
    exp = torch.exp(scores)
    attention = exp / exp.sum(dim=-1, keepdim=True)
    return torch.matmul(attention, value), attention


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, d_model, bias=False)
        self.v_proj = nn.Linear(d_model, d_model, bias=False)
        self.o_proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        out, weights = scaled_dot_product_attention(q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1), mask)
        return self.o_proj(out.squeeze(1)), weights.repeat(1, self.n_heads, 1, 1)
