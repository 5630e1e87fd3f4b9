"""The projections' rows are feature-major: row = (feature, q/k/v, head).

So head h owns the output features h, h + H, h + 2H, ...  Since W_o is learned,
this is the same layer with its rows and columns in another order.
"""
import torch
from torch import nn


def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def merge_heads(x):
    return x.transpose(1, 2).flatten(2)


def scaled_dot_product_attention(query, key, value, mask=None):
    s = torch.einsum("...id,...jd->...ij", query, key)
    s = s / query.shape[-1] ** 0.5
    if mask is not None:
        s = torch.where(mask != 0, s, -torch.inf)
    p = torch.softmax(s, -1)
    return torch.einsum("...ij,...jd->...id", p, value), p


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.d_k, rest = divmod(d_model, n_heads)
        if rest != 0:
            raise ValueError("d_model is not a multiple of n_heads")
        self.n_heads = n_heads
        self.to_all = nn.Linear(d_model, d_model * 3, bias=False)
        self.to_out = nn.Linear(d_model, d_model, bias=False)

    def _project(self, x, i):
        w = self.to_all.weight.view(self.d_k, 3, self.n_heads, -1)[:, i]   # (d_k, H, D)
        return torch.einsum("btc,dhc->bhtd", x, w)

    def forward(self, query, key, value, mask=None):
        q, k, v = (self._project(x, i) for i, x in enumerate((query, key, value)))
        y, p = scaled_dot_product_attention(q, k, v, mask)
        y = y.permute(0, 2, 3, 1).flatten(2)                               # (B, T, d_k * H)
        return self.to_out(y), p
