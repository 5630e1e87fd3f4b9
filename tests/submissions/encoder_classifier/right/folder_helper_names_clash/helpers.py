"""An old attempt; only the constants are used."""
import torch
from torch import nn

SEED = 7


def padding_mask(ids, pad):
    return ids != pad


class EncoderBlock(nn.Module):
    def __init__(self, *args):
        super().__init__()

    def forward(self, x):
        return x
