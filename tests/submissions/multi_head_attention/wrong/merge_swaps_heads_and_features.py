import torch
import torch.nn as nn


def split_heads(x, n_heads):
    n, t, d = x.shape
    return x.reshape(n, t, n_heads, d // n_heads).permute(0, 2, 1, 3)


def merge_heads(x):
    return x.permute(0, 2, 3, 1).flatten(2)


def scaled_dot_product_attention(query, key, value, mask=None):
    energy = query @ key.transpose(-1, -2)
    if mask is not None:
        energy = energy.masked_fill(mask == 0, float("-1e20"))
    attention = torch.softmax(energy / query.shape[-1] ** 0.5, dim=-1)
    return attention @ value, attention


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_size, heads):
        super().__init__()
        assert embed_size % heads == 0, "Embedding size needs to be divisible by heads"
        self.heads = heads
        self.queries = nn.Linear(embed_size, embed_size, bias=False)
        self.keys = nn.Linear(embed_size, embed_size, bias=False)
        self.values = nn.Linear(embed_size, embed_size, bias=False)
        self.fc_out = nn.Linear(embed_size, embed_size)

    def forward(self, query, keys, values, mask=None):
        q = split_heads(self.queries(query), self.heads)
        k = split_heads(self.keys(keys), self.heads)
        v = split_heads(self.values(values), self.heads)
        out, attention = scaled_dot_product_attention(q, k, v, mask)
        return self.fc_out(merge_heads(out)), attention
