import torch
from torch import nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, D // n_heads, n_heads).permute(0, 3, 1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.permute(0, 2, 3, 1).reshape(B, T, d_k * H)


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.shape[-1]
    sim = torch.einsum("...qd,...kd->...qk", query, key) * d_k ** -0.5
    if mask is not None:
        sim = sim.masked_fill(mask == 0, float("-inf"))
    p = sim.softmax(-1)
    return torch.einsum("...qk,...kd->...qd", p, value), p


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{num_heads} heads do not divide {embed_dim}")
        self.num_heads = num_heads
        self.w_q = nn.Linear(embed_dim, embed_dim, bias=False)
        self.w_k = nn.Linear(embed_dim, embed_dim, bias=False)
        self.w_v = nn.Linear(embed_dim, embed_dim, bias=False)
        self.w_o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, query, key, value, mask=None):
        q, k, v = (split_heads(w(x), self.num_heads) for w, x in
                   ((self.w_q, query), (self.w_k, key), (self.w_v, value)))
        y, p = scaled_dot_product_attention(q, k, v, mask)
        return self.w_o(merge_heads(y)), p
