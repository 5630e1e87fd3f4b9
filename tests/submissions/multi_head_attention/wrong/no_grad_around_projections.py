import torch
import torch.nn as nn


def split_heads(x, n_heads):
    # d_k features for each head
    d_k = x.shape[-1] // n_heads
    heads = [x[:, :, i * d_k:(i + 1) * d_k] for i in range(n_heads)]
    return torch.stack(heads, 1)


def merge_heads(x):
    heads = [x[:, i] for i in range(x.shape[1])]
    return torch.cat(heads, 2)


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.shape[-1]
    logits = torch.einsum("...qd,...kd->...qk", query, key) / d_k ** 0.5
    if mask is not None:
        logits = logits.masked_fill(mask.bool().logical_not(), -1e9)
    weights = torch.softmax(logits, dim=-1)
    return torch.einsum("...qk,...kd->...qd", weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("num_heads must divide embed_dim")
        self.num_heads = num_heads
        self.Wq = nn.Linear(embed_dim, embed_dim)
        self.Wk = nn.Linear(embed_dim, embed_dim)
        self.Wv = nn.Linear(embed_dim, embed_dim)
        self.Wo = nn.Linear(embed_dim, embed_dim)

    @torch.no_grad()
    def project(self, query, key, value):
        tensors = self.Wq(query), self.Wk(key), self.Wv(value)
        return [split_heads(t, self.num_heads) for t in tensors]

    def forward(self, query, key, value, mask=None):
        q, k, v = self.project(query, key, value)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.Wo(merge_heads(out)), weights
