import torch
import torch.nn as nn
import torch.nn.functional as F


def split_heads(x, n_heads):
    b, t, d = x.shape
    return x.view(b, t, n_heads, d // n_heads).transpose(1, 2)


def merge_heads(x):
    b, h, t, k = x.shape
    return x.transpose(1, 2).contiguous().view(b, t, h * k)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.1):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("n_heads must divide d_model")
        self.n_heads, self.p = n_heads, dropout
        self.qkv = nn.Linear(d_model, d_model * 3)
        self.out = nn.Linear(d_model, d_model)

    def _project(self, i, t):
        w = self.qkv.weight.view(3, -1, t.shape[-1])[i]
        b = self.qkv.bias.view(3, -1)[i]
        return split_heads(F.linear(t, w, b), self.n_heads)

    def forward(self, query, key, value, mask=None):
        q, k, v = self._project(0, query), self._project(1, key), self._project(2, value)
        context, weights = scaled_dot_product_attention(q, k, v, mask)
        context = F.dropout(merge_heads(context), self.p)
        return self.out(context), weights


if __name__ == "__main__":
    torch.manual_seed(42)
    demo = torch.randn(1, 6, 32)
    y, a = MultiHeadAttention(32, 4)(demo, demo, demo)
    print(y.shape, a.shape)
