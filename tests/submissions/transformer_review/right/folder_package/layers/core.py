import torch
import torch.nn as nn


def sdp(q, k, v, mask=None):
    a = torch.einsum("...id,...jd->...ij", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        a = a.masked_fill(mask.bool() == False, float("-inf"))  # noqa: E712
    a = a.softmax(-1)
    return torch.einsum("...ij,...jd->...id", a, v), a


class MHA(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        assert dim % heads == 0
        self.heads = heads
        self.w_out = nn.Linear(dim, dim, bias=False)
        self.w_in = nn.ModuleList([nn.Linear(dim, dim, bias=False) for _ in range(3)])

    def forward(self, query, key, value, mask=None):
        from .shapes import join, split
        q, k, v = (split(w(x), self.heads) for w, x in zip(self.w_in, (query, key, value)))
        y, a = sdp(q, k, v, mask)
        return self.w_out(join(y)), a


class FFN(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.a = nn.Linear(dim, hidden)
        self.b = nn.Linear(hidden, dim)

    def forward(self, x):
        return self.b(self.a(x).relu())
