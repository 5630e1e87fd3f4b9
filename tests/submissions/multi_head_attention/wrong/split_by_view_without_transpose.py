import torch
from torch import nn


def split_heads(x, n_heads):
    B, T, D = x.size()
    return x.contiguous().view(B, n_heads, T, D // n_heads)


def merge_heads(x):
    B, H, T, d_k = x.size()
    return x.transpose(1, 2).contiguous().view(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    attn = torch.matmul(query / query.size(-1) ** 0.5, key.transpose(-2, -1))
    if mask is not None:
        attn = attn.masked_fill(mask == 0, -1e9)
    attn = torch.softmax(attn, dim=-1)
    return torch.matmul(attn, value), attn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        assert d_model % n_head == 0
        self.n_head = n_head
        self.w_qs = nn.Linear(d_model, d_model, bias=False)
        self.w_ks = nn.Linear(d_model, d_model, bias=False)
        self.w_vs = nn.Linear(d_model, d_model, bias=False)
        self.fc = nn.Linear(d_model, d_model, bias=False)

    def forward(self, q, k, v, mask=None):
        q = split_heads(self.w_qs(q), self.n_head)
        k = split_heads(self.w_ks(k), self.n_head)
        v = split_heads(self.w_vs(v), self.n_head)
        out, attn = scaled_dot_product_attention(q, k, v, mask)
        return self.fc(merge_heads(out)), attn
