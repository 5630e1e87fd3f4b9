from torch import nn
from attention import MultiHeadAttention
from tables import causal_mask


class AddNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x, sublayer):
        return self.norm(x + sublayer(x))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.mha = MultiHeadAttention(d_model, n_heads)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.first, self.last = AddNorm(d_model), AddNorm(d_model)

    def forward(self, x, key_padding_mask=None):
        m = None if key_padding_mask is None else (key_padding_mask == False)[:, None, None]  # noqa: E712
        return self.last(self.first(x, lambda y: self.mha(y, y, y, m)[0]), self.ffn)


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.mha = MultiHeadAttention(d_model, n_heads)
        self.mha_memory = MultiHeadAttention(d_model, n_heads)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.first, self.middle, self.last = AddNorm(d_model), AddNorm(d_model), AddNorm(d_model)

    def forward(self, x, memory, memory_key_padding_mask=None):
        m = None if memory_key_padding_mask is None else (memory_key_padding_mask == False)[:, None, None]  # noqa: E712
        x = self.first(x, lambda y: self.mha(y, y, y, causal_mask(y.shape[1]))[0])
        x = self.middle(x, lambda y: self.mha_memory(y, memory, memory, m)[0])
        return self.last(x, self.ffn)
