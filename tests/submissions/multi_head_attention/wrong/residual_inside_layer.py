import torch
from torch import nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    return torch.permute(x.reshape(B, T, n_heads, D // n_heads), (0, 2, 1, 3))


def merge_heads(x):
    B, H, T, d_k = x.shape
    return torch.permute(x, (0, 2, 1, 3)).reshape(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    logits = torch.einsum("...td,...sd->...ts", query, key) / query.shape[-1] ** 0.5
    if mask is not None:
        logits = logits.masked_fill(mask == 0, -1e9)
    probs = torch.softmax(logits, -1)
    return torch.einsum("...ts,...sd->...td", probs, value), probs


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.project = nn.ModuleList(nn.Linear(d_model, d_model, bias=False) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        q, k, v = (split_heads(p(t), self.n_heads) for p, t in zip(self.project, (query, key, value)))
        heads, probs = scaled_dot_product_attention(q, k, v, mask)
        return query + self.project[3](merge_heads(heads)), probs
