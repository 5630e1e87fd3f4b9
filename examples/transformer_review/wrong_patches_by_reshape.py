# Homework lesson 115
import numpy as np
import torch
from torch import nn


def scaled_dot_product_attention(query, key, value, mask=None):
    scale = 1 / np.sqrt(query.shape[-1])
    scores = torch.matmul(query, torch.transpose(key, -1, -2)) * scale
    if mask is not None:
        scores = torch.where(mask > 0, scores, torch.tensor(float("-inf")))
    weights = nn.functional.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    """One small projection for each head."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model has to be divisible by n_heads")
        d_k = d_model // n_heads

        def projections():
            return nn.ModuleList([nn.Linear(d_model, d_k, bias=False) for _ in range(n_heads)])

        self.queries, self.keys, self.values = projections(), projections(), projections()
        self.output = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        Q = torch.stack([f(query) for f in self.queries], dim=1)
        K = torch.stack([f(key) for f in self.keys], dim=1)
        V = torch.stack([f(value) for f in self.values], dim=1)
        heads, weights = scaled_dot_product_attention(Q, K, V, mask)
        joined = torch.cat([heads[:, h] for h in range(heads.shape[1])], dim=-1)
        return self.output(joined), weights


def may_look(ignore):
    if ignore is None:
        return None
    return (ignore == False)[:, None, None, :]  # noqa: E712


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.layer_norm_1 = nn.LayerNorm(d_model)
        self.feed_forward_1 = nn.Linear(d_model, d_ff)
        self.feed_forward_2 = nn.Linear(d_ff, d_model)
        self.layer_norm_2 = nn.LayerNorm(d_model)

    def forward(self, x, key_padding_mask=None):
        z, _ = self.attention(x, x, x, may_look(key_padding_mask))
        x = self.layer_norm_1(x + z)
        z = self.feed_forward_2(torch.clamp(self.feed_forward_1(x), min=0))
        x = self.layer_norm_2(x + z)
        return x


def causal_mask(size):
    return ~torch.triu(torch.ones(size, size, dtype=torch.bool), diagonal=1)


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.masked_attention = MultiHeadAttention(d_model, n_heads)
        self.layer_norm_1 = nn.LayerNorm(d_model)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.layer_norm_2 = nn.LayerNorm(d_model)
        self.feed_forward_1 = nn.Linear(d_model, d_ff)
        self.feed_forward_2 = nn.Linear(d_ff, d_model)
        self.layer_norm_3 = nn.LayerNorm(d_model)

    def forward(self, x, memory, memory_key_padding_mask=None):
        z, _ = self.masked_attention(x, x, x, causal_mask(x.shape[1]))
        x = self.layer_norm_1(x + z)
        z, _ = self.cross_attention(x, memory, memory, may_look(memory_key_padding_mask))
        x = self.layer_norm_2(x + z)
        z = self.feed_forward_2(torch.clamp(self.feed_forward_1(x), min=0))
        x = self.layer_norm_3(x + z)
        return x


def sinusoidal_positional_encoding(max_len, d_model):
    pos = np.arange(max_len).reshape(max_len, 1)
    two_i = np.arange(0, d_model, 2).reshape(1, -1)
    angle = pos / np.power(10000, two_i / d_model)
    table = np.empty((max_len, d_model))
    table[:, 0::2] = np.sin(angle)
    table[:, 1::2] = np.cos(angle)
    return torch.from_numpy(table).float()


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.pixels = patch_size * patch_size  # in a patch
        self.n_patches = 64 // self.pixels
        self.projection = nn.Linear(self.pixels, d_model)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model) / 10)
        self.position = nn.Parameter(torch.randn(1, 1 + self.n_patches, d_model) / 10)
        self.encoder = EncoderBlock(d_model, n_heads, d_ff)
        self.classifier = nn.Linear(d_model, n_classes)

    def forward(self, images):
        batch = images.shape[0]
        # 64 pixels -> 16 patches with 4 pixels each
        patches = images.reshape(batch, self.n_patches, self.pixels)
        x = self.projection(patches)
        x = torch.cat([self.cls.expand(batch, 1, -1), x], dim=1)
        x = x + self.position
        x = self.encoder(x)
        return self.classifier(x[:, 0, :])


def mean_aggregate(features, adjacency):
    a = torch.clamp(adjacency + torch.eye(adjacency.shape[0]), max=1)
    degree = a.sum(dim=1)
    return torch.diag(1 / degree) @ a @ features


if __name__ == "__main__":
    net = PixelBERT()
    images = torch.rand(80, 8, 8)
    print(net(images).shape)
