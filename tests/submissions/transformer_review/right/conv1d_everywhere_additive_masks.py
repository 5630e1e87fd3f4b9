"""Conv1d for all projections (channels first); masks become additive terms early on."""
import math
import torch
from torch import nn

NEG = torch.finfo(torch.float32).min / 2

def scaled_dot_product_attention(query, key, value, mask=None):
    logits = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(key.size(-1))
    if mask is not None:
        logits = logits + NEG * (1.0 - mask.float())
    weights = torch.softmax(logits - logits.detach().amax(-1, keepdim=True), -1)
    return torch.matmul(weights, value), weights

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if n_heads * (d_model // n_heads) != d_model:
            raise ValueError("d_model must be a multiple of n_heads")
        self.n_heads = n_heads
        self.conv_q, self.conv_kv = nn.Conv1d(d_model, d_model, 1, bias=False), nn.Conv1d(d_model, 2 * d_model, 1, bias=False)
        self.conv_o = nn.Conv1d(d_model, d_model, 1, bias=False)
    def forward(self, query, key, value, mask=None):
        H = self.n_heads
        def cut(y):                      # (B, D, T) -> (B, H, T, d_k)
            return y.reshape(y.shape[0], H, -1, y.shape[2]).mT
        wk, wv = self.conv_kv.weight.chunk(2)
        k = nn.functional.conv1d(key.mT, wk)
        v = nn.functional.conv1d(value.mT, wv)
        y, w = scaled_dot_product_attention(cut(self.conv_q(query.mT)), cut(k), cut(v), mask)
        return self.conv_o(y.mT.flatten(1, 2)).mT, w

def sinusoidal_positional_encoding(max_len, d_model):
    table = torch.zeros(max_len, d_model // 2, 2)
    angle = torch.arange(max_len)[:, None] / 10000 ** (torch.arange(0, d_model, 2)[None] / d_model)
    table[..., 0] = torch.sin(angle); table[..., 1] = torch.cos(angle)
    return table.view(max_len, d_model)

def causal_mask(size):
    return torch.triu(torch.ones(size, size), diagonal=1) == 0

class Common(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attn = MultiHeadAttention(d_model, n_heads)
        self.ffn = nn.Sequential(nn.Conv1d(d_model, d_ff, 1), nn.ReLU(), nn.Conv1d(d_ff, d_model, 1))
        self.normA, self.normB = nn.LayerNorm(d_model, eps=1e-6), nn.LayerNorm(d_model, eps=1e-6)
    def tail(self, x):
        return self.normB(x + self.ffn(x.mT).mT)

class EncoderBlock(Common):
    def forward(self, x, key_padding_mask=None):
        m = None if key_padding_mask is None else key_padding_mask.logical_not().view(len(x), 1, 1, -1)
        return self.tail(self.normA(x + self.attn(x, x, x, m)[0]))

class DecoderBlock(Common):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__(d_model, n_heads, d_ff)
        self.attn2, self.normC = MultiHeadAttention(d_model, n_heads), nn.LayerNorm(d_model, eps=1e-6)
    def forward(self, x, memory, memory_key_padding_mask=None):
        m = None if memory_key_padding_mask is None else memory_key_padding_mask.logical_not().view(len(x), 1, 1, -1)
        x = self.normA(x + self.attn(x, x, x, causal_mask(x.shape[1]))[0])
        x = self.normC(x + self.attn2(x, memory, memory, m)[0])
        return self.tail(x)

class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.p, self.d = patch_size, d_model
        self.embed, self.out = nn.Linear(patch_size ** 2, d_model), nn.Linear(d_model, n_classes)
        # row 0 is CLS plus its position in one vector
        self.pos = nn.Parameter(torch.randn(1 + (8 // patch_size) ** 2, d_model) * .05)
        self.enc = EncoderBlock(d_model, n_heads, d_ff)
    def forward(self, images):
        b = images.shape[0]
        x = torch.nn.functional.unfold(images.view(b, 1, 8, 8), self.p, stride=self.p).mT
        x = nn.functional.pad(self.embed(x), (0, 0, 1, 0)) + self.pos
        return self.out(self.enc(x)[:, 0])

def mean_aggregate(features, adjacency):
    src = adjacency.ne(0).to(features.dtype)
    src = src - torch.diag_embed(src.diagonal()) + torch.eye(len(src))
    return torch.linalg.solve(torch.diag(src.sum(1)), src @ features)
