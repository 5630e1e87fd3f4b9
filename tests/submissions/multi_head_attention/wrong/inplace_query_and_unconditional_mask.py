import torch
import torch.nn as nn
import torch.nn.functional as F


def split_heads(x, n_heads):
    B, T, D = x.shape
    d_k = D // n_heads
    return x.view(B, T, n_heads, d_k).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).contiguous().view(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.size(-1)
    query /= d_k ** 0.5
    scores = torch.matmul(query, key.transpose(-2, -1))
    scores = scores.masked_fill(torch.eq(mask, 0), -1e9)
    weights = F.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0, "d_model must be divisible by n_heads"
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model, bias=False)
        self.key = nn.Linear(d_model, d_model, bias=False)
        self.value = nn.Linear(d_model, d_model, bias=False)
        self.fc = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        Q = split_heads(self.query(query), self.n_heads)
        K = split_heads(self.key(key), self.n_heads)
        V = split_heads(self.value(value), self.n_heads)
        x, weights = scaled_dot_product_attention(Q, K, V, mask)
        return self.fc(merge_heads(x)), weights


if __name__ == "__main__":
    torch.manual_seed(42)
    demo = torch.randn(1, 6, 32)
    y, a = MultiHeadAttention(32, 4)(demo, demo, demo)
    print(y.shape, a.shape)
