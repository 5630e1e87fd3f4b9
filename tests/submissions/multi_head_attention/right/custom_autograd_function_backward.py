"""I wrote the backward pass of attention by hand, to be sure that I understand it."""
import torch
from torch import nn
from torch.autograd import Function


def _sum_to(grad, shape):
    """undo broadcasting"""
    return grad.sum_to_size(shape)


class _Attend(Function):
    @staticmethod
    def forward(ctx, q, k, v, allowed):
        scale = 1 / q.shape[-1] ** 0.5
        s = torch.matmul(q, k.transpose(-1, -2)) * scale
        if allowed is not None:
            s.masked_fill_(~allowed, -float("inf"))
        s -= s.max(-1, keepdim=True)[0]
        p = s.exp_()
        p = p / p.sum(-1, keepdim=True)
        ctx.save_for_backward(q, k, v, p)
        ctx.scale = scale
        return torch.matmul(p, v), p

    @staticmethod
    def backward(ctx, g_out, g_p):
        q, k, v, p = ctx.saved_tensors
        g_v = torch.matmul(p.transpose(-1, -2), g_out)
        g = torch.matmul(g_out, v.transpose(-1, -2)) + g_p
        g_s = p * (g - (g * p).sum(-1, keepdim=True))        # softmax jacobian
        g_s = g_s * ctx.scale
        g_q = torch.matmul(g_s, k)
        g_k = torch.matmul(g_s.transpose(-1, -2), q)
        return _sum_to(g_q, q.shape), _sum_to(g_k, k.shape), _sum_to(g_v, v.shape), None


def scaled_dot_product_attention(query, key, value, mask=None):
    return _Attend.apply(query, key, value, None if mask is None else mask.bool())


def split_heads(x, n_heads):
    return torch.stack(x.tensor_split(n_heads, dim=-1)).transpose(0, 1)


def merge_heads(x):
    return x.swapaxes(1, 2).flatten(start_dim=2)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.register_parameter("wq", nn.Parameter(torch.randn(d_model, d_model) / d_model ** .5))
        self.register_parameter("wk", nn.Parameter(torch.randn(d_model, d_model) / d_model ** .5))
        self.register_parameter("wv", nn.Parameter(torch.randn(d_model, d_model) / d_model ** .5))
        self.register_parameter("wo", nn.Parameter(torch.randn(d_model, d_model) / d_model ** .5))

    def forward(self, query, key, value, mask=None):
        q, k, v = (split_heads(x @ w, self.n_heads)
                   for x, w in ((query, self.wq), (key, self.wk), (value, self.wv)))
        y, p = scaled_dot_product_attention(q, k, v, mask)
        return merge_heads(y) @ self.wo, p
