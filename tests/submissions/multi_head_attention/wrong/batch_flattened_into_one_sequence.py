import torch
import torch.nn as nn


def split_heads(x, n_heads):
    bsz, seq, dim = x.shape
    return torch.einsum("bthd->bhtd", x.reshape(bsz, seq, n_heads, dim // n_heads))


def merge_heads(x):
    bsz, h, seq, d = x.shape
    return torch.einsum("bhtd->bthd", x).reshape(bsz, seq, h * d)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("num_heads must divide embed_dim")
        self.h, self.d_k = num_heads, embed_dim // num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(embed_dim, embed_dim, bias=False) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        B, Tq, D = query.shape
        Tk = key.shape[1]
        q = self.q(query).reshape(-1, self.h, self.d_k).transpose(0, 1)     # (H, B*Tq, d_k)
        k = self.k(key).reshape(-1, self.h, self.d_k).transpose(0, 1)
        v = self.v(value).reshape(-1, self.h, self.d_k).transpose(0, 1)
        if mask is not None:
            full = mask.expand(B, 1, Tq, Tk)[:, 0]
            mask = full.reshape(B * Tq, Tk).repeat(1, B)
        out, w = scaled_dot_product_attention(q, k, v, mask)
        out = out.transpose(0, 1).reshape(B, Tq, D)
        w = w.view(self.h, B, Tq, B, Tk).diagonal(dim1=1, dim2=3).permute(3, 0, 1, 2)
        return self.o(out), w
