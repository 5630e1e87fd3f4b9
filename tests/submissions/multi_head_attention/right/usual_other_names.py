import math
import torch
import torch.nn as nn


def split_heads(tensor, h):
    bs, seq_len, dim = tensor.shape
    return tensor.reshape(bs, seq_len, h, dim // h).transpose(1, 2)


def merge_heads(tensor):
    bs, h, seq_len, head_dim = tensor.shape
    return tensor.transpose(1, 2).reshape(bs, seq_len, h * head_dim)


def scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=0.0, training=False, eps=None):
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
    if attn_mask is not None:
        scores = scores.masked_fill(attn_mask == 0, float("-inf"))
    attn = scores.softmax(dim=-1)
    dropped = nn.functional.dropout(attn, dropout_p, training)
    return torch.matmul(dropped, v), attn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=False, device=None, dtype=None):
        super().__init__()
        assert embed_dim % num_heads == 0, "embed_dim must be divisible by num_heads"
        kw = dict(bias=bias, device=device, dtype=dtype)
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.q_proj = nn.Linear(embed_dim, embed_dim, **kw)
        self.k_proj = nn.Linear(embed_dim, embed_dim, **kw)
        self.v_proj = nn.Linear(embed_dim, embed_dim, **kw)
        self.out_proj = nn.Linear(embed_dim, embed_dim, **kw)

    def forward(self, q, k, v, attn_mask=None, need_weights=True):
        q = split_heads(self.q_proj(q), self.num_heads)
        k = split_heads(self.k_proj(k), self.num_heads)
        v = split_heads(self.v_proj(v), self.num_heads)
        out, attn = scaled_dot_product_attention(q, k, v, attn_mask, self.dropout, self.training)
        out = self.out_proj(merge_heads(out))
        return (out, attn) if need_weights else (out, None)
