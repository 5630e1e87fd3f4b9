"""First draft, kept for its helper functions. causal_mask and EncoderBlock here are NOT the final ones."""
import torch
import torch.nn as nn


def causal_mask(size):
    """Draft: additive mask, 0 = may attend, -inf = may not."""
    return torch.full((size, size), float("-inf")).triu(1)


def heads_first(x, n):
    return x.view(x.size(0), x.size(1), n, -1).transpose(1, 2)


def heads_last(x):
    return x.transpose(1, 2).flatten(2)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

    def forward(self, x):
        return self.net(x)


class EncoderBlock(nn.Module):
    """Draft: pre-norm, without attention."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.ffn = FeedForward(d_model, d_ff)

    def forward(self, x):
        return x + self.ffn(self.norm(x))
