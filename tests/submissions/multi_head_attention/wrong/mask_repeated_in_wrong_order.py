import torch
import torch.nn as nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.view(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / query.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model must be divisible by n_heads")
        self.n_heads = n_heads
        self.to_q = nn.Linear(d_model, d_model)
        self.to_k = nn.Linear(d_model, d_model)
        self.to_v = nn.Linear(d_model, d_model)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        B, H = query.size(0), self.n_heads
        # (B, H, T, d) -> (B*H, T, d): one big batched matmul
        q = split_heads(self.to_q(query), H).flatten(0, 1)
        k = split_heads(self.to_k(key), H).flatten(0, 1)
        v = split_heads(self.to_v(value), H).flatten(0, 1)
        if mask is not None and mask.dim() == 4:
            mask = mask.squeeze(1).repeat(H, 1, 1)
        out, w = scaled_dot_product_attention(q, k, v, mask)
        return self.to_out(merge_heads(out.unflatten(0, (B, H)))), w.unflatten(0, (B, H))
