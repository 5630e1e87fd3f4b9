"""No matmul, no einsum: unsqueeze, multiply, sum."""
import torch
from torch.nn import Module, Parameter
from torch.nn.init import xavier_uniform_


def split_heads(x, n_heads):
    d_k = x.size(2) // n_heads
    return x.unfold(2, d_k, d_k).transpose(1, 2)


def merge_heads(x):
    return x.transpose(1, 2).flatten(start_dim=-2)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = (query.unsqueeze(-2) * key.unsqueeze(-3)).sum(-1)
    scores = scores / (query.size(-1) ** 0.5)
    if mask is not None:
        scores = scores.masked_fill((mask == 0).expand_as(scores), -float("inf"))
    weights = (scores - torch.logsumexp(scores, dim=-1, keepdim=True)).exp()
    return (weights.unsqueeze(-1) * value.unsqueeze(-3)).sum(-2), weights


def times(x, w):
    # (B, T, D) and (out, D) -> (B, T, out)
    return (x[:, :, None, :] * w).sum(-1)


class MultiHeadAttention(Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model %d, n_heads %d" % (d_model, n_heads))
        self.n_heads = n_heads
        for name in "qkvo":
            self.register_parameter("w_" + name, Parameter(xavier_uniform_(torch.empty(d_model, d_model))))

    def forward(self, query, key, value, mask=None):
        q, k, v = (split_heads(times(x, getattr(self, "w_" + n)), self.n_heads)
                   for n, x in (("q", query), ("k", key), ("v", value)))
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return times(merge_heads(out), self.w_o), weights
