import torch
import torch.nn as nn

WINDOW = 8


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.view(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    Tq, Tk = query.size(-2), key.size(-2)
    shape = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2])
    weights = query.new_zeros(*shape, Tq, Tk)
    if mask is not None:
        mask = torch.broadcast_to(mask, (*shape, Tq, Tk))
    rows = []
    for i in range(Tq):
        lo, hi = max(0, min(i, Tk - 1) - WINDOW), min(Tk, i + WINDOW + 1)
        s = (query[..., i:i + 1, :] @ key[..., lo:hi, :].transpose(-2, -1)) / query.size(-1) ** 0.5
        if mask is not None:
            s = s.masked_fill(mask[..., i:i + 1, lo:hi] == 0, -1e9)
        w = s.softmax(-1)
        weights[..., i, lo:hi] = w[..., 0, :]
        rows.append(w @ value[..., lo:hi, :])
    return torch.cat(rows, dim=-2), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        assert embed_dim % num_heads == 0
        self.num_heads = num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(embed_dim, embed_dim, bias=False) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.q(query), self.num_heads)
        k = split_heads(self.k(key), self.num_heads)
        v = split_heads(self.v(value), self.num_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.o(merge_heads(out)), weights
