"""Multi-head attention without nn.MultiheadAttention.

F.scaled_dot_product_attention(q, k, v) and F.multi_head_attention_forward are
not used either, nor is nn.TransformerEncoderLayer: see the task's rules.
"""
# from torch.nn import MultiheadAttention, TransformerEncoderLayer   <- first attempt, not allowed
# out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
import torch
import torch.nn as nn

NOT_ALLOWED = ("nn.MultiheadAttention", "F.scaled_dot_product_attention", "nn.Transformer")


def split_heads(x, n_heads):
    "(B, T, D) -> (B, H, T, d_k), as inside of nn.MultiheadAttention"
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    "the way back"
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    """Same result as `F.scaled_dot_product_attention(query, key, value, mask)`.

    >>> # nn.functional.scaled_dot_product_attention(q, k, v)  would be the reference
    """
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    description = "like nn.MultiheadAttention(d_model, n_heads, batch_first=True, bias=False)"

    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("nn.MultiheadAttention would also complain: d_model % n_heads != 0")
        self.n_heads = n_heads
        self.q = nn.Linear(d_model, d_model, bias=False)
        self.k = nn.Linear(d_model, d_model, bias=False)
        self.v = nn.Linear(d_model, d_model, bias=False)
        self.o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        # not: return F.multi_head_attention_forward(...)
        q = split_heads(self.q(query), self.n_heads)
        k = split_heads(self.k(key), self.n_heads)
        v = split_heads(self.v(value), self.n_heads)
        y, w = scaled_dot_product_attention(q, k, v, mask)
        return self.o(merge_heads(y)), w
