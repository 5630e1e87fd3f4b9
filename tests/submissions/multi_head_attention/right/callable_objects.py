import torch
import torch.nn as nn


class _Split:
    def __call__(self, x, n_heads):
        B, T, D = x.shape
        return x.reshape(B, T, n_heads, D // n_heads).transpose(1, 2)


class _Merge:
    def __call__(self, x):
        B, H, T, d = x.shape
        return x.transpose(1, 2).reshape(B, T, H * d)


class DotProductAttention(nn.Module):
    """An nn.Module without parameters; an instance of it is the function."""

    def __init__(self, fill=float("-inf")):
        super().__init__()
        self.fill = fill
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, query, key, value, mask=None):
        scores = torch.matmul(query, key.transpose(-1, -2))
        scores = scores / torch.sqrt(torch.tensor(float(query.shape[-1])))
        if mask is not None:
            scores = scores.masked_fill(mask == 0, self.fill)
        weights = self.softmax(scores)
        return torch.matmul(weights, value), weights


split_heads = _Split()
merge_heads = _Merge()
scaled_dot_product_attention = DotProductAttention()


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0, (d_model, n_heads)
        self.n_heads = n_heads
        self.proj_q = nn.Linear(d_model, d_model)
        self.proj_k = nn.Linear(d_model, d_model, bias=False)
        self.proj_v = nn.Linear(d_model, d_model)
        self.proj_o = nn.Linear(d_model, d_model)
        self.attend = DotProductAttention(fill=-1e10)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.proj_q(query), self.n_heads)
        k = split_heads(self.proj_k(key), self.n_heads)
        v = split_heads(self.proj_v(value), self.n_heads)
        y, w = self.attend(q, k, v, mask)
        return self.proj_o(merge_heads(y)), w
