import torch
from torch import nn
from torch import einsum, softmax

def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, x.shape[-1] // n_heads)).permute(0, 2, 1, 3)

def merge_heads(x):
    return x.permute(0, 2, 1, 3).flatten(2, 3)

def scaled_dot_product_attention(query, key, value, mask=None):
    root = query.shape[-1] ** .5
    compat = einsum("...td,...sd->...ts", query, key) * root
    if mask is not None:
        compat = compat.where(mask.bool(), compat.new_tensor(-1e12))
    alpha = softmax(compat, dim=-1)
    return einsum("...ts,...sd->...td", alpha, key), alpha

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads: raise ValueError("d_model/n_heads is not whole")
        k = d_model // n_heads
        init = lambda *s: nn.Parameter(torch.randn(*s) * d_model ** -.5)
        self.U, self.V, self.W = init(n_heads, d_model, k), init(n_heads, d_model, k), init(n_heads, d_model, k)
        self.O = init(n_heads, k, d_model)
    def forward(self, query, key, value, mask=None):
        q = einsum("btd,hdk->bhtk", query, self.U)
        k = einsum("bsd,hdk->bhsk", key, self.V)
        v = einsum("bsd,hdk->bhsk", value, self.W)
        y, alpha = scaled_dot_product_attention(q, k, v, mask)
        return einsum("bhtk,hkd->btd", y, self.O), alpha
