import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from .encoding import padding_mask, sinusoidal_positional_encoding as pe


class Residual(nn.Module):
    def __init__(self, inner, width, dropout):
        super().__init__()
        self.inner, self.post, self.drop = inner, nn.LayerNorm(width), nn.Dropout(dropout)

    def forward(self, x, **kw):
        return self.post(x + self.drop(self.inner(x, **kw)))


class Mixer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        if width % heads:
            raise ValueError("heads")
        self.in_weight = nn.Parameter(torch.randn(heads, 3, width // heads, width) * width ** -0.5)
        self.out_weight = nn.Parameter(torch.randn(heads, width // heads, width) * width ** -0.5)

    def forward(self, x, ignore=None):
        q, k, v = torch.einsum("btd,hced->cbhte", x, self.in_weight)
        y = scaled_dot_product_attention(q, k, v, None if ignore is None else ~ignore[:, None, None])
        return torch.einsum("bhte,hed->btd", y, self.out_weight)


class FeedForward(nn.Sequential):
    def __init__(self, width, inner):
        super().__init__(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, width))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.mix = Residual(Mixer(d_model, n_heads), d_model, dropout)
        self.feed = Residual(FeedForward(d_model, d_ff), d_model, dropout)

    def forward(self, x, key_padding_mask=None):
        return self.feed(self.mix(x, ignore=key_padding_mask))


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.blocks = nn.Sequential(*[EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers)])

    def forward(self, x, key_padding_mask=None):
        for block in self.blocks:
            x = block(x, key_padding_mask)
        return x


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2, max_len=64, pad_id=0,
                 dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.lookup = nn.Embedding(vocab_size, d_model)
        self.cls_vector = nn.Parameter(torch.randn(1, 1, d_model))
        self.register_buffer("positions", pe(max_len, d_model), persistent=True)
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.project = nn.Linear(d_model, n_classes, bias=False)

    def forward(self, input_ids):
        x = torch.cat([self.cls_vector.expand(len(input_ids), -1, -1), self.lookup(input_ids)], 1)
        x = x + self.positions.narrow(0, 0, x.size(1))
        ignore = nn.functional.pad(padding_mask(input_ids, self.pad_id), (1, 0), value=False)
        cls, *_ = self.encoder(x, ignore).unbind(1)
        return self.project(cls)
