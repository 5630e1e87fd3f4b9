import torch
import torch.nn as nn
from layers.core import FFN, MHA as MultiHeadAttention, sdp as scaled_dot_product_attention


def sinusoidal_positional_encoding(max_len, d_model):
    pos = torch.arange(max_len, dtype=torch.float64)[:, None]
    ang = pos / 10000 ** (torch.arange(0, d_model, 2, dtype=torch.float64)[None] / d_model)
    return torch.stack([ang.sin(), ang.cos()], 2).flatten(1).float()


def causal_mask(size):
    return torch.arange(size)[None] <= torch.arange(size)[:, None]


class EncoderBlock(nn.Module):
    def __init__(self, dim, heads, hidden):
        super().__init__()
        self.ffn = FFN(dim, hidden)
        self.ln2 = nn.LayerNorm(dim)
        self.ln1 = nn.LayerNorm(dim)
        self.mha = MultiHeadAttention(dim, heads)

    def forward(self, x, key_padding_mask=None):
        m = None if key_padding_mask is None else key_padding_mask[:, None, None, :].logical_not()
        x = self.ln1(x + self.mha(x, x, x, m)[0])
        return self.ln2(x + self.ffn(x))


class DecoderBlock(nn.Module):
    def __init__(self, dim, heads, hidden):
        super().__init__()
        self.ffn = FFN(dim, hidden)
        self.ln3 = nn.LayerNorm(dim)
        self.ln2 = nn.LayerNorm(dim)
        self.ln1 = nn.LayerNorm(dim)
        self.mha_memory = MultiHeadAttention(dim, heads)
        self.mha = MultiHeadAttention(dim, heads)

    def forward(self, x, memory, memory_key_padding_mask=None):
        m = None if memory_key_padding_mask is None else memory_key_padding_mask[:, None, None, :].logical_not()
        x = self.ln1(x + self.mha(x, x, x, causal_mask(x.shape[1]))[0])
        x = self.ln2(x + self.mha_memory(x, memory, memory, m)[0])
        return self.ln3(x + self.ffn(x))


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.p, self.n = patch_size, 8 // patch_size
        self.embed = nn.Linear(patch_size ** 2, d_model)
        self.cls = nn.Embedding(1, d_model)
        self.pos = nn.Embedding(self.n ** 2 + 1, d_model)
        self.enc = EncoderBlock(d_model, n_heads, d_ff)
        self.out = nn.Linear(d_model, n_classes)

    def forward(self, images):
        x = images.reshape(-1, self.n, self.p, self.n, self.p).transpose(2, 3).reshape(len(images), self.n ** 2, -1)
        x = torch.cat([self.cls.weight.expand(len(x), 1, -1), self.embed(x)], 1) + self.pos.weight
        return self.out(self.enc(x)[:, 0])


def mean_aggregate(features, adjacency):
    a = torch.clamp(adjacency.float() + torch.eye(len(adjacency)), 0, 1)
    return a @ features / a.sum(-1, keepdim=True)
