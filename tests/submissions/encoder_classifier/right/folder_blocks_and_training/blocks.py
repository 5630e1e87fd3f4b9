import math

import torch
from torch import nn


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        d_k = d_model // n_heads
        self.scale = 1.0 / math.sqrt(d_k)
        self.weight = nn.Parameter(torch.randn(3, n_heads, d_model, d_k) / math.sqrt(d_model))
        self.out_weight = nn.Parameter(torch.randn(n_heads, d_k, d_model) / math.sqrt(d_model))
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.ln_att = nn.LayerNorm(d_model)
        self.ln_ffn = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, key_padding_mask=None):
        q, k, v = torch.einsum("btd,phdk->pbhtk", x, self.weight)
        score = torch.einsum("bhqk,bhsk->bhqs", q * self.scale, k)
        if key_padding_mask is not None:
            score = score + key_padding_mask[:, None, None, :].to(score.dtype) * -1e9
        att = torch.softmax(score, dim=-1)
        y = torch.einsum("bhqs,bhsk,hkd->bqd", att, v, self.out_weight)
        x = self.ln_att(x + self.dropout(y))
        return self.ln_ffn(x + self.dropout(self.down(torch.relu(self.up(x)))))


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.first = EncoderBlock(d_model, n_heads, d_ff, dropout)
        self.rest = TransformerEncoder(n_layers - 1, d_model, n_heads, d_ff, dropout) if n_layers > 1 else None

    def forward(self, x, key_padding_mask=None):
        x = self.first(x, key_padding_mask)
        if self.rest is not None:
            x = self.rest(x, key_padding_mask)
        return x
