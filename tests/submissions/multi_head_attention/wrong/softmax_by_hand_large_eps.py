import torch
import torch.nn as nn

EPS = 1e-2


def stable_softmax(x):
    e = torch.exp(x - x.max(dim=-1, keepdim=True).values)
    return e / (e.sum(dim=-1, keepdim=True) + EPS)


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.view(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = stable_softmax(scores)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError
        self.num_heads = num_heads
        self.wq = nn.Linear(embed_dim, embed_dim, bias=False)
        self.wk = nn.Linear(embed_dim, embed_dim, bias=False)
        self.wv = nn.Linear(embed_dim, embed_dim, bias=False)
        self.wo = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, q, k, v, mask=None):
        q = split_heads(self.wq(q), self.num_heads)
        k = split_heads(self.wk(k), self.num_heads)
        v = split_heads(self.wv(v), self.num_heads)
        x, w = scaled_dot_product_attention(q, k, v, mask)
        return self.wo(merge_heads(x)), w
