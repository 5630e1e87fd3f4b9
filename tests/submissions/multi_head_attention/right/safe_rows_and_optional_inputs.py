import torch
import torch.nn as nn


def split_heads(x, n_heads=8):
    assert x.dim() == 3
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    assert x.dim() == 4
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


def scaled_dot_product_attention(query, key=None, value=None, mask=None, scale=None):
    key = query if key is None else key
    value = key if value is None else value
    if scale is None:
        scale = query.shape[-1] ** -0.5
    scores = torch.matmul(query, key.transpose(-1, -2)) * scale
    if mask is None:
        weights = scores.softmax(-1)
    else:
        keep = mask if mask.dtype is torch.bool else mask != 0
        weights = scores.masked_fill(~keep, float("-inf")).softmax(-1)
        weights = torch.nan_to_num(weights, nan=0.0)      # rows without any key
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=512, n_heads=8, qkv_bias=False, out_bias=False, attn_drop=0.0, **unused):
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise ValueError("invalid n_heads")
        self.n_heads = n_heads
        self.register_buffer("scale", torch.tensor((d_model // n_heads) ** -0.5), persistent=False)
        self.q = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.kv = nn.Linear(d_model, 2 * d_model, bias=qkv_bias)
        self.attn_drop = nn.Dropout(attn_drop)
        self.proj = nn.Linear(d_model, d_model, bias=out_bias)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        q = split_heads(self.q(query), self.n_heads)
        if key is value:
            k, v = self.kv(key).chunk(2, dim=-1)
        else:
            k, v = self.kv(key).chunk(2, -1)[0], self.kv(value).chunk(2, -1)[1]
        k, v = split_heads(k, self.n_heads), split_heads(v, self.n_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask, self.scale)
        return self.proj(merge_heads(self.attn_drop(out))), weights
