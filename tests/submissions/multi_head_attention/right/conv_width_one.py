"""A linear map per position is a convolution of width 1, so I used nn.Conv1d."""
import math
import torch
import torch.nn as nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    # channels first, split the channels, back
    return x.transpose(1, 2).reshape(B, n_heads, D // n_heads, T).transpose(2, 3)


def merge_heads(x):
    B, H, T, C = x.shape
    return x.transpose(2, 3).reshape(B, H * C, T).transpose(1, 2)


def scaled_dot_product_attention(query, key, value, mask=None):
    att = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    if mask is not None:
        att = att.masked_fill(mask < 0.5, torch.finfo(att.dtype).min) if mask.dtype != torch.bool \
            else att.masked_fill(~mask, torch.finfo(att.dtype).min)
    att = torch.softmax(att, dim=-1)
    return torch.matmul(att, value), att


class MultiHeadAttention(nn.Module):
    def __init__(self, channels, n_heads):
        super().__init__()
        assert channels % n_heads == 0
        self.n_heads = n_heads
        self.conv_q = nn.Conv1d(channels, channels, 1, bias=False)
        self.conv_k = nn.Conv1d(channels, channels, 1, bias=False)
        self.conv_v = nn.Conv1d(channels, channels, 1, bias=False)
        self.conv_o = nn.Conv1d(channels, channels, 1)

    @staticmethod
    def _apply_conv(conv, x):
        return conv(x.transpose(1, 2)).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self._apply_conv(self.conv_q, query), self.n_heads)
        k = split_heads(self._apply_conv(self.conv_k, key), self.n_heads)
        v = split_heads(self._apply_conv(self.conv_v, value), self.n_heads)
        y, att = scaled_dot_product_attention(q, k, v, mask)
        return self._apply_conv(self.conv_o, merge_heads(y)), att
