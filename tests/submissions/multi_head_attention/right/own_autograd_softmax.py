import torch
import torch.nn as nn


class RowSoftmax(torch.autograd.Function):
    """Softmax with the Jacobian-vector product derived by hand: p * (g - <g, p>)."""

    @staticmethod
    def forward(ctx, z):
        p = (z - z.amax(dim=-1, keepdim=True)).exp_()
        p = p / p.sum(dim=-1, keepdim=True)
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        return p * (g - (g * p).sum(dim=-1, keepdim=True))


def split_heads(x, n_heads):
    B, T, D = x.shape
    return torch.einsum("bthd->bhtd", x.reshape(B, T, n_heads, D // n_heads))


def merge_heads(x):
    return torch.einsum("bhtd->bthd", x).flatten(2)


def scaled_dot_product_attention(query, key, value, mask=None):
    z = torch.matmul(query, key.transpose(-1, -2)).mul(query.shape[-1] ** -0.5)
    if mask is not None:
        z = z.masked_fill(mask == 0, -1e12)
    p = RowSoftmax.apply(z)
    return torch.matmul(p, value), p


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError
        self.n_heads = n_heads
        self.fc_q = nn.Linear(d_model, d_model, bias=True)
        self.fc_k = nn.Linear(d_model, d_model, bias=False)   # a key bias would do nothing
        self.fc_v = nn.Linear(d_model, d_model, bias=True)
        self.fc_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.fc_q(query), self.n_heads)
        k = split_heads(self.fc_k(key), self.n_heads)
        v = split_heads(self.fc_v(value), self.n_heads)
        y, p = scaled_dot_product_attention(q, k, v, mask)
        return self.fc_o(merge_heads(y)), p
