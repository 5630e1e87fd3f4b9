import torch
import torch.nn as nn


def split_heads(x: torch.Tensor, n_heads: int) -> torch.Tensor:
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    return x.transpose(1, 2).flatten(start_dim=2)


def scaled_dot_product_attention(Q, K, V, mask=None):
    """softmax(Q K^T / sqrt(d_k)) V"""
    d_k = Q.size(-1)
    scores = Q.matmul(K.transpose(-2, -1)) / d_k ** 0.5
    if mask is not None:
        # True / 1 = may attend
        scores = torch.where(mask != 0, scores, torch.full_like(scores, -1e9))
    A = torch.softmax(scores, -1)
    return A.matmul(V), A


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        Wq, Wk, Wv = self.qkv.weight.chunk(3, dim=0)
        q = split_heads(query @ Wq.t(), self.n_heads)
        k = split_heads(key @ Wk.t(), self.n_heads)
        v = split_heads(value @ Wv.t(), self.n_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return merge_heads(out), weights
