"""Used by multi_head_attention.ipynb."""
import torch
from torch import nn


class StackedProjections(nn.Module):
    """Four (D, D) matrices, stored below one another; number i is applied by forward(x, i)."""

    def __init__(self, d_model):
        super().__init__()
        self.d_model = d_model
        self.weight = nn.Parameter(torch.empty(4 * d_model, d_model))
        nn.init.uniform_(self.weight, -d_model ** -0.5, d_model ** -0.5)

    def forward(self, x, i):
        rows = self.weight.narrow(0, i * self.d_model, self.d_model)
        return nn.functional.linear(x, rows)


def softmax_last(x):
    return (x - x.logsumexp(dim=-1, keepdim=True)).exp()
