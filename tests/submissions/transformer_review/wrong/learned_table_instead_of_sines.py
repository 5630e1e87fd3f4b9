import torch
import torch.nn as nn


def scaled_dot_product_attention(query, key, value, mask=None):
    """mask: True = may attend."""
    d_k = query.shape[-1]
    scores = query @ key.transpose(-2, -1) / d_k ** 0.5
    if mask is not None:
        bias = torch.zeros(mask.shape).masked_fill(mask == 0, -1e4)
        scores = scores + bias
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


class Head(nn.Module):
    def __init__(self, d_model, d_k):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_k, bias=False)

    def forward(self, q, k, v, mask):
        return scaled_dot_product_attention(self.query(q), self.key(k), self.value(v), mask)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model has to be a multiple of n_heads")
        self.heads = nn.ModuleList(Head(d_model, d_model // n_heads) for _ in range(n_heads))
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        if mask is not None and mask.dim() == 4:
            mask = mask[:, 0]                     # the same mask for every head
        results = [head(query, key, value, mask) for head in self.heads]
        out = torch.cat([o for o, _ in results], dim=-1)
        weights = torch.stack([w for _, w in results], dim=1)
        return self.out(out), weights


def sinusoidal_positional_encoding(max_len, d_model):
    return nn.Parameter(torch.randn(max_len, d_model) * 0.02)


def causal_mask(size):
    return torch.tensor([[col <= row for col in range(size)] for row in range(size)])


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(inplace=True), nn.Linear(d_ff, d_model))
        self.norms = nn.ModuleList([nn.LayerNorm(d_model), nn.LayerNorm(d_model)])
        self.attention = MultiHeadAttention(d_model, n_heads)

    def forward(self, x, key_padding_mask=None):
        mask = None
        if key_padding_mask is not None:
            mask = (key_padding_mask == 0)[:, None, None, :]
        a, w = self.attention(x, x, x, mask)
        x = self.norms[0](x + a)
        x = self.norms[1](x + self.feed_forward(x))
        return x, w


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(inplace=True), nn.Linear(d_ff, d_model))
        self.norms = nn.ModuleList([nn.LayerNorm(d_model) for _ in "abc"])
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.memory_attention = MultiHeadAttention(d_model, n_heads)

    def forward(self, x, memory, memory_key_padding_mask=None):
        a, self_weights = self.attention(x, x, x, causal_mask(x.shape[1]))
        x = self.norms[0](x + a)
        mask = None
        if memory_key_padding_mask is not None:
            mask = (memory_key_padding_mask == 0)[:, None, None, :]
        a, cross_weights = self.memory_attention(x, memory, memory, mask)
        x = self.norms[1](x + a)
        x = self.norms[2](x + self.feed_forward(x))
        return x, self_weights, cross_weights


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.unfold = nn.Unfold(patch_size, stride=patch_size)
        self.project = nn.Linear(patch_size ** 2, d_model)
        self.cls = nn.Parameter(torch.randn(d_model) * 0.02)
        self.position = nn.Parameter(torch.zeros((8 // patch_size) ** 2 + 1, d_model))
        self.block = EncoderBlock(d_model, n_heads, d_ff)
        self.mlp = nn.Sequential(nn.Linear(d_model, d_model), nn.Tanh(), nn.Linear(d_model, n_classes))

    def forward(self, images):
        x = self.unfold(images[:, None]).transpose(1, 2)
        x = self.project(x)
        cls = self.cls.view(1, 1, -1).expand(x.shape[0], 1, -1)
        x = torch.cat([cls, x], 1) + self.position
        x, _ = self.block(x)
        return self.mlp(x[:, 0])


def mean_aggregate(features, adjacency):
    A = torch.clamp(adjacency.float() + torch.eye(adjacency.shape[0]), max=1)
    return torch.diag(1 / A.sum(1)) @ A @ features
