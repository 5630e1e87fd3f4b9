import math
import torch
import torch.nn as nn


def scaled_dot_product_attention(query, key, value, mask=None, return_weights=True):
    att = (query @ key.transpose(-2, -1)) * (1.0 / math.sqrt(key.size(-1)))
    if mask is not None:
        att = att.masked_fill(mask == 0, float('-inf'))
    att = torch.nn.functional.softmax(att, dim=-1)
    y = att @ value
    return (y, att) if return_weights else y


class MultiHeadAttention(nn.Module):
    """Fused projection in the order k, q, v (registered as c_attn), then c_proj."""

    def __init__(self, n_embd, n_head, bias=True, dropout=0.0):
        super().__init__()
        assert n_embd % n_head == 0
        self.c_attn = nn.Linear(n_embd, 3 * n_embd, bias=bias)
        self.c_proj = nn.Linear(n_embd, n_embd, bias=bias)
        self.attn_dropout = nn.Dropout(dropout)
        self.resid_dropout = nn.Dropout(dropout)
        self.n_head = n_head
        self.n_embd = n_embd

    def forward(self, query, key, value, mask=None):
        B, T, C = query.size()
        C3 = self.n_embd
        k = self.c_attn(key)[..., :C3]
        q = self.c_attn(query)[..., C3:2 * C3]
        v = self.c_attn(value)[..., 2 * C3:]
        k = k.view(B, k.size(1), self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, q.size(1), self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, v.size(1), self.n_head, C // self.n_head).transpose(1, 2)
        y, att = scaled_dot_product_attention(q, k, v, mask)
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_dropout(self.c_proj(y)), self.attn_dropout(att)


def causal_mask(size):
    return torch.tril(torch.ones(size, size)) == 1


class MLP(nn.Module):
    def __init__(self, n_embd, n_inner):
        super().__init__()
        self.c_fc = nn.Linear(n_embd, n_inner)
        self.act = nn.GELU()
        self.c_proj = nn.Linear(n_inner, n_embd)

    def forward(self, x):
        return self.c_proj(self.act(self.c_fc(x)))


class EncoderBlock(nn.Module):
    def __init__(self, n_embd, n_head, n_inner, bias=True):
        super().__init__()
        self.attn = MultiHeadAttention(n_embd, n_head, bias)
        self.ln_1 = nn.LayerNorm(n_embd)
        self.mlp = MLP(n_embd, n_inner)
        self.ln_2 = nn.LayerNorm(n_embd)

    def forward(self, x, key_padding_mask=None):
        mask = None
        if key_padding_mask is not None:
            mask = ~key_padding_mask.bool()
            mask = mask[:, None, None, :]
        x = self.ln_1(x + self.attn(x, x, x, mask)[0])
        x = self.ln_2(x + self.mlp(x))
        return x


class DecoderBlock(nn.Module):
    def __init__(self, n_embd, n_head, n_inner, bias=True, block_size=64):
        super().__init__()
        self.register_buffer("mask", causal_mask(block_size)[None, None], persistent=False)
        self.attn = MultiHeadAttention(n_embd, n_head, bias)
        self.ln_1 = nn.LayerNorm(n_embd)
        self.cross = MultiHeadAttention(n_embd, n_head, bias)
        self.ln_x = nn.LayerNorm(n_embd)
        self.mlp = MLP(n_embd, n_inner)
        self.ln_2 = nn.LayerNorm(n_embd)

    def forward(self, x, memory, memory_key_padding_mask=None):
        T = x.size(1)
        if T > self.mask.size(-1):                      # grow the buffer when a longer sequence comes
            self.mask = causal_mask(2 * T)[None, None].to(x.device)
        x = self.ln_1(x + self.attn(x, x, x, self.mask[:, :, :T, :T])[0])
        mask = None
        if memory_key_padding_mask is not None:
            mask = ~memory_key_padding_mask.bool()[:, None, None, :]
        x = self.ln_x(x + self.cross(x, memory, memory, mask)[0])
        x = self.ln_2(x + self.mlp(x))
        return x


class PositionalTable:
    """A callable that remembers what it has computed."""

    def __init__(self):
        self.cache = {}

    def __call__(self, max_len, d_model):
        if (max_len, d_model) not in self.cache:
            pe = torch.zeros(max_len, d_model, dtype=torch.float64)
            pos = torch.arange(0, max_len, dtype=torch.float64).unsqueeze(1)
            div = torch.pow(10000, torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
            pe[:, 0::2], pe[:, 1::2] = torch.sin(pos / div), torch.cos(pos / div)
            self.cache[max_len, d_model] = pe.float()
        return self.cache[max_len, d_model].clone()


sinusoidal_positional_encoding = PositionalTable()


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, n_embd=32, n_head=4, n_inner=64, image_size=8, n_layer=1):
        super().__init__()
        grid = image_size // patch_size
        self.wte = nn.Conv2d(1, n_embd, patch_size, patch_size)
        self.wpe = nn.Embedding(grid * grid + 1, n_embd)
        self.cls = nn.Parameter(torch.zeros(1, 1, n_embd))
        self.h = nn.ModuleList([EncoderBlock(n_embd, n_head, n_inner) for _ in range(n_layer)])
        self.lm_head = nn.Linear(n_embd, n_classes, bias=False)
        self.apply(self._init)

    def _init(self, m):
        if isinstance(m, (nn.Linear, nn.Embedding, nn.Conv2d)):
            nn.init.normal_(m.weight, 0.0, 0.02)
            if getattr(m, "bias", None) is not None:
                nn.init.zeros_(m.bias)

    def forward(self, images):
        x = self.wte(images.unsqueeze(1)).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls.expand(x.size(0), -1, -1), x), dim=1)
        x = x + self.wpe(torch.arange(x.size(1), device=x.device))
        for block in self.h:
            x = block(x)
        return self.lm_head(x[:, 0, :])


def mean_aggregate(features, adjacency):
    n = features.size(0)
    adj = adjacency.float() * (1 - torch.eye(n)) + torch.eye(n)
    return torch.einsum("ij,jf->if", adj / adj.sum(1, keepdim=True), features)
