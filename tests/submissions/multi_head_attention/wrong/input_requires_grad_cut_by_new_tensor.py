import torch
import torch.nn as nn


def split_heads(x, n_heads):
    """(B, T, D) -> (B, H, T, d_k)"""
    batch, length, width = x.size()
    heads = x.reshape(batch, length, n_heads, width // n_heads)
    return heads.permute(0, 2, 1, 3).contiguous()


def merge_heads(x):
    """(B, H, T, d_k) -> (B, T, D)"""
    batch, n_heads, length, size = x.size()
    return x.permute(0, 2, 1, 3).contiguous().view(batch, length, n_heads * size)


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.shape[-1]
    logits = torch.einsum("...qd,...kd->...qk", query, key) / d_k ** 0.5
    if mask is not None:
        logits = logits.masked_fill(mask.bool().logical_not(), -1e9)
    weights = torch.softmax(logits, dim=-1)
    return torch.einsum("...qk,...kd->...qd", weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("num_heads must divide embed_dim")
        self.num_heads = num_heads
        self.lin_q = nn.Linear(embed_dim, embed_dim)
        self.lin_k = nn.Linear(embed_dim, embed_dim)
        self.lin_v = nn.Linear(embed_dim, embed_dim)
        self.lin_out = nn.Linear(embed_dim, embed_dim)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.lin_q(query), self.lin_k(key), self.lin_v(value)
        q = split_heads(q, self.num_heads)
        k = split_heads(k, self.num_heads)
        v = split_heads(v, self.num_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        heads = [out[:, i].tolist() for i in range(self.num_heads)]
        concat = torch.cat([torch.tensor(h) for h in heads], dim=-1)
        return self.lin_out(concat), weights
