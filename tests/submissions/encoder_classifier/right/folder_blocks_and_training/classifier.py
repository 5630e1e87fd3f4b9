import math
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import nn

from blocks import EncoderBlock, TransformerEncoder
from training import parameter_groups, train, warmup_cosine


@lru_cache(maxsize=None)
def sinusoidal_positional_encoding(max_len, d_model):
    pe = torch.empty(max_len, d_model)
    t = torch.arange(max_len).float()
    for column in range(0, d_model, 2):
        w = math.exp(-column / d_model * math.log(1e4))
        pe[:, column] = torch.sin(t * w)
        pe[:, column + 1] = torch.cos(t * w)
    return pe


def padding_mask(ids, pad):
    return torch.isin(ids, torch.tensor([pad]))


@dataclass(frozen=True)
class ModelConfig:
    vocab_size: int
    n_classes: int
    d_model: int
    n_heads: int
    d_ff: int
    n_layers: int
    max_len: int
    pad_id: int
    dropout: float


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.config = c = ModelConfig(vocab_size, n_classes, d_model, n_heads, d_ff, n_layers, max_len, pad_id, dropout)
        self.embedding = nn.Embedding(c.vocab_size, c.d_model)
        self.cls = nn.Parameter(torch.empty(c.d_model))
        self.encoder = TransformerEncoder(c.n_layers, c.d_model, c.n_heads, c.d_ff, c.dropout)
        self.head = nn.Linear(c.d_model, c.n_classes)
        self.register_buffer("positions", sinusoidal_positional_encoding(c.max_len + 1, c.d_model))
        self.apply(self._init)
        nn.init.trunc_normal_(self.cls, std=0.02)

    @staticmethod
    def _init(module):
        if isinstance(module, nn.Linear):
            nn.init.orthogonal_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.5)

    def forward(self, input_ids):
        if input_ids.size(1) > self.config.max_len:
            raise ValueError("sentence too long")
        tokens = self.embedding(input_ids)
        x = torch.empty(tokens.size(0), tokens.size(1) + 1, tokens.size(2))
        x[:, 0] = self.cls
        x[:, 1:] = tokens
        x = x + self.positions[: x.size(1)]
        ignore = torch.zeros(x.shape[:2], dtype=torch.bool)
        ignore[:, 1:] = padding_mask(input_ids, self.config.pad_id)
        return self.head(self.encoder(x, ignore)[:, 0])
