import torch
import torch.nn as nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.view(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    x = x.transpose(1, 2)
    return x.reshape(*x.shape[:2], -1)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / key.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e4)
    # mixed precision saves memory
    weights = torch.softmax(scores.to(torch.bfloat16), dim=-1).to(value.dtype)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.num_heads = n_heads
        self.query_layer = nn.Linear(d_model, d_model, bias=False)
        self.key_layer = nn.Linear(d_model, d_model, bias=False)
        self.value_layer = nn.Linear(d_model, d_model, bias=False)
        self.final_layer = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.query_layer(query), self.num_heads)
        k = split_heads(self.key_layer(key), self.num_heads)
        v = split_heads(self.value_layer(value), self.num_heads)
        z, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.final_layer(merge_heads(z)), weights
