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
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = scores.softmax(dim=-1)
    best = weights.argmax(dim=-1, keepdim=True).expand(*weights.shape[:-1], value.size(-1))
    return torch.gather(value, -2, best), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("num_heads must divide embed_dim")
        self.num_heads = num_heads
        self.to_q = nn.Conv1d(embed_dim, embed_dim, 1, bias=False)
        self.to_k = nn.Conv1d(embed_dim, embed_dim, 1, bias=False)
        self.to_v = nn.Conv1d(embed_dim, embed_dim, 1, bias=False)
        self.to_o = nn.Conv1d(embed_dim, embed_dim, 1, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.to_q(query.mT).mT.contiguous(), self.num_heads)
        k = split_heads(self.to_k(key.mT).mT.contiguous(), self.num_heads)
        v = split_heads(self.to_v(value.mT).mT.contiguous(), self.num_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.to_o(merge_heads(out).mT).mT, weights
