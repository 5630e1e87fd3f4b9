import math
import torch
import torch.nn as nn


class ScaledDotProduct(nn.Module):
    def __init__(self):
        super().__init__()
        self.softmax = nn.Softmax(dim=1)

    def forward(self, query, key, value, mask=None):
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        weights = self.softmax(scores)
        return torch.matmul(weights, value), weights


scaled_dot_product_attention = ScaledDotProduct()


def split_heads(x, n_heads):
    n, t, d = x.shape
    return x.reshape(n, t, n_heads, d // n_heads).transpose(1, 2)


def merge_heads(x):
    n, h, t, d = x.shape
    return x.transpose(1, 2).reshape(n, t, h * d)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model should be divisible by n_heads")
        self.n_heads = n_heads
        self.attention = ScaledDotProduct()
        self.fc_q = nn.Linear(d_model, d_model)
        self.fc_k = nn.Linear(d_model, d_model)
        self.fc_v = nn.Linear(d_model, d_model)
        self.fc_o = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.fc_q(query), self.n_heads)
        k = split_heads(self.fc_k(key), self.n_heads)
        v = split_heads(self.fc_v(value), self.n_heads)
        out, w = self.attention(q, k, v, mask)
        return self.fc_o(merge_heads(out)), w
