"""Multi-head attention, one head after the other."""
import math
import torch
import torch.nn as nn


def split_heads(x, n_heads):
    B, T, D = x.size()
    return x.view(B, T, n_heads, D // n_heads).permute(0, 2, 1, 3)


def merge_heads(x):
    B, H, T, dk = x.size()
    return x.permute(0, 2, 1, 3).reshape(B, T, H * dk)


def scaled_dot_product_attention(query, key, value, mask=None):
    s = query @ key.mT / math.sqrt(query.size(-1))
    if mask is not None:
        s = s.masked_fill(mask == 0, float("-inf"))
    a = s.softmax(-1)
    return a @ value, a


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        assert embed_dim % num_heads == 0, "embed_dim % num_heads must be 0"
        self.h = num_heads
        self.to_q = nn.Linear(embed_dim, embed_dim)
        self.to_k = nn.Linear(embed_dim, embed_dim)
        self.to_v = nn.Linear(embed_dim, embed_dim)
        self.to_out = nn.Linear(embed_dim, embed_dim)

    def forward(self, q, k, v, attn_mask=None):
        q = split_heads(self.to_q(q), self.h)
        k = split_heads(self.to_k(k), self.h)
        v = split_heads(self.to_v(v), self.h)
        if attn_mask is not None:
            # the heads axis of the mask is not needed inside the loop
            attn_mask = attn_mask[:, 0]
        outs, maps = [], []
        for i in range(self.h):
            o, a = scaled_dot_product_attention(q[:, i], k[:, i], v[:, i], attn_mask)
            outs.append(o)
            maps.append(a)
        return self.to_out(torch.cat(outs, -1)), torch.stack(maps, 1)
