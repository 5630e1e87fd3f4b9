import torch
import torch.nn as nn
import warnings

warnings.filterwarnings("ignore", message="Implicit dimension choice")
normalise = nn.Softmax()


def split_heads(x, n_heads):
    n, t, d = x.shape
    return x.reshape(n, t, n_heads, d // n_heads).transpose(1, 2)


def merge_heads(x):
    n, h, t, k = x.shape
    return x.transpose(1, 2).reshape(n, t, h * k)


def scaled_dot_product_attention(query, key, value, mask=None):
    logits = torch.matmul(query, key.transpose(-2, -1)) / query.size(-1) ** 0.5
    if mask is not None:
        logits = logits.masked_fill(mask == 0, -1e9)
    weights = normalise(logits)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("choose n_heads so that it divides d_model")
        self.n_heads = n_heads
        self.linears = nn.ModuleList()
        for _ in range(4):
            self.linears.append(nn.Linear(d_model, d_model, bias=False))

    def forward(self, query, key, value, mask=None):
        parts = []
        for lin, t in zip(self.linears, (query, key, value)):
            parts.append(split_heads(lin(t), self.n_heads))
        x, weights = scaled_dot_product_attention(parts[0], parts[1], parts[2], mask)
        return self.linears[-1](merge_heads(x)), weights
