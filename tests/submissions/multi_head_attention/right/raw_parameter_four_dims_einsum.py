"""No nn.Linear at all: one 4-D parameter for Q, K, V and one 3-D for the output."""
import torch
from torch import einsum
from torch.nn import Module, Parameter, init


def split_heads(x, n_heads):
    b, t, d = x.size()
    return x.reshape(b, t, n_heads, d // n_heads).permute(0, 2, 1, 3)


def merge_heads(x):
    b, h, t, d = x.size()
    return x.permute(0, 2, 1, 3).reshape(b, t, h * d)


def stable_softmax(z):
    z = z - z.amax(dim=-1, keepdim=True)
    e = z.exp()
    return e / e.sum(dim=-1, keepdim=True)


def scaled_dot_product_attention(query, key, value, mask=None):
    z = query.matmul(key.transpose(-2, -1)) / torch.tensor(float(key.shape[-1])).sqrt()
    if mask is not None:
        z = z.masked_fill(mask == 0, float("-inf"))
    p = stable_softmax(z)
    return p.matmul(value), p


class MultiHeadAttention(Module):
    def __init__(self, d_model, n_heads):
        if d_model % n_heads != 0:
            raise ValueError("heads do not divide the model width")
        super().__init__()
        d_k = d_model // n_heads
        self.w_in = Parameter(torch.empty(3, n_heads, d_model, d_k))     # k, q, v
        self.w_out = Parameter(torch.empty(n_heads, d_k, d_model))
        bound = (3.0 / d_model) ** 0.5
        init.uniform_(self.w_in, -bound, bound)
        init.uniform_(self.w_out, -bound, bound)

    def forward(self, query, key, value, mask=None):
        K, Q, V = (einsum("btd,hdk->bhtk", x, w) for x, w in zip((key, query, value), self.w_in))
        ctx, p = scaled_dot_product_attention(Q, K, V, mask)
        return einsum("bhtk,hkd->btd", ctx, self.w_out), p
