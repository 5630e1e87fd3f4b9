import torch
import torch.nn as nn


def split_heads(x, n_heads):
    b, t, d = x.shape
    return x.reshape(b, t, n_heads, d // n_heads).transpose(1, 2)


def merge_heads(x):
    b, h, t, d = x.shape
    return x.transpose(1, 2).reshape(b, t, h * d)


def scaled_dot_product_attention(query, key, value, mask=None):
    weights = torch.softmax(query @ key.transpose(-2, -1) / query.size(-1) ** 0.5, dim=-1)
    if mask is not None:
        weights = weights * mask          # masked keys get weight 0
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.Wq = nn.Linear(d_model, d_model, bias=False)
        self.Wk = nn.Linear(d_model, d_model, bias=False)
        self.Wv = nn.Linear(d_model, d_model, bias=False)
        self.Wo = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        args = zip((self.Wq, self.Wk, self.Wv), (query, key, value))
        q, k, v = [split_heads(w(x), self.n_heads) for w, x in args]
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.Wo(merge_heads(out)), weights
