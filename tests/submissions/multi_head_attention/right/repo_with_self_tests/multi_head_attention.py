#!/usr/bin/env python3
"""Usage: python multi_head_attention.py [--seed N]    (compares with PyTorch)"""
import argparse

import torch
from torch import nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1)
    scores /= query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.W_q(query), self.n_heads)
        k = split_heads(self.W_k(key), self.n_heads)
        v = split_heads(self.W_v(value), self.n_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.W_o(merge_heads(out)), weights


def _self_test(seed):
    torch.manual_seed(seed)
    mine, ref = MultiHeadAttention(32, 4), nn.MultiheadAttention(32, 4, bias=False, batch_first=True)
    with torch.no_grad():
        ref.in_proj_weight.copy_(torch.cat([mine.W_q.weight, mine.W_k.weight, mine.W_v.weight]))
        ref.out_proj.weight.copy_(mine.W_o.weight)
    x = torch.randn(3, 6, 32)
    causal = torch.ones(6, 6).tril().bool()
    torch.testing.assert_close(mine(x, x, x, causal)[0], ref(x, x, x, attn_mask=~causal)[0])
    q = torch.randn(3, 6, 8)
    torch.testing.assert_close(scaled_dot_product_attention(q, q, q)[0],
                               nn.functional.scaled_dot_product_attention(q, q, q))
    nn.TransformerEncoderLayer(32, 4, batch_first=True)(x)      # only to see its output's shape
    print("all good")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    _self_test(parser.parse_args().seed)
