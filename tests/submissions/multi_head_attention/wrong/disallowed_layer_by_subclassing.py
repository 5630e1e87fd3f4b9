import math
import torch
from torch import nn

Base = nn.MultiheadAttention


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).permute(0, 2, 1, 3)


def merge_heads(x):
    return x.permute(0, 2, 1, 3).flatten(2)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(dim=-1)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(Base):
    def __init__(self, d_model, n_heads):
        if d_model % n_heads:
            raise ValueError("d_model must be divisible by n_heads")
        super().__init__(d_model, n_heads, batch_first=True)

    def forward(self, query, key, value, mask=None):
        blocked = None
        if mask is not None:
            shape = (query.size(0), self.num_heads, query.size(1), key.size(1))
            blocked = mask.bool().logical_not().expand(shape).flatten(0, 1)
        return super().forward(query, key, value, attn_mask=blocked, average_attn_weights=False)
