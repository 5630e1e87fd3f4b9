import torch
from torch import nn


class Projections(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.in_q = nn.Linear(width, width, bias=False)
        self.in_k = nn.Linear(width, width, bias=False)
        self.in_v = nn.Linear(width, width, bias=False)

    def forward(self, q, k, v):
        return self.in_q(q), self.in_k(k), self.in_v(v)


def masked(scores: torch.Tensor, mask) -> torch.Tensor:
    return scores if mask is None else scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
