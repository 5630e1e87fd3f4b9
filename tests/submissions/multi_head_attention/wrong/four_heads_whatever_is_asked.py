import torch
import torch.nn as nn

N_HEADS = 4


def split_heads(x, n_heads=N_HEADS):
    b, t, d = x.shape
    return x.view(b, t, n_heads, d // n_heads).transpose(1, 2)


def merge_heads(x):
    b, h, t, d_k = x.shape
    return x.transpose(1, 2).contiguous().view(b, t, h * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / query.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=32, n_heads=N_HEADS):
        super().__init__()
        assert d_model % n_heads == 0
        self.to_qkv = nn.ModuleList(nn.Linear(d_model, d_model, bias=False) for _ in range(3))
        self.to_out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q, k, v = [split_heads(f(x)) for f, x in zip(self.to_qkv, (query, key, value))]
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.to_out(merge_heads(out)), weights
