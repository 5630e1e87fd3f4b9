import torch
from torch import nn


class PerHead(nn.Module):
    """weight (H, d_k, D), bias (H, d_k): (B, T, D) -> (B, H, T, d_k)"""

    def __init__(self, d_model, n_heads):
        super().__init__()
        d_k = d_model // n_heads
        self.weight = nn.Parameter(torch.empty(n_heads, d_k, d_model))
        self.bias = nn.Parameter(torch.zeros(n_heads, 1, d_k))
        nn.init.trunc_normal_(self.weight, std=d_model ** -0.5)

    def forward(self, x):
        return torch.matmul(x.unsqueeze(1), self.weight.mT) + self.bias
