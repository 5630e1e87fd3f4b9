import torch, math
import torch.nn as nn

def split_heads(x, n_heads):
    B, T, D = x.shape
    x = x.reshape(B, T, n_heads, D // n_heads)
    return x.transpose(1, 2)

def merge_heads(x):
    x = x.transpose(1, 2)
    return x.reshape(x.shape[0], x.shape[1], -1)

def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = key.shape[-1]
    scores = query @ key.transpose(-2, -1) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -torch.inf)
    w = torch.softmax(scores, -1)
    return w @ value, w

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0, "heads must divide d_model"
        self.d_model, self.n_heads = d_model, n_heads
        self.q = nn.Linear(d_model, d_model, bias=False)
        self.k = nn.Linear(d_model, d_model, bias=False)
        self.v = nn.Linear(d_model, d_model, bias=False)
        self.o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.q(query), self.n_heads)
        k = split_heads(self.k(key), self.n_heads)
        v = split_heads(self.v(value), self.n_heads)
        # scaled scores, all heads at once
        energy = torch.einsum("bhid,bhjd->bhij", q, k) / self.d_model ** 0.5
        if mask is not None:
            energy = energy.masked_fill(mask == 0, -1e20)
        attention = torch.softmax(energy, dim=-1)
        out = torch.einsum("bhij,bhjd->bhid", attention, v)
        return self.o(merge_heads(out)), attention
