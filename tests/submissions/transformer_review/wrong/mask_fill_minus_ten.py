import math, torch
import torch.nn as nn

def _matrix(rows, cols):
    w = nn.Parameter(torch.empty(rows, cols))
    nn.init.xavier_uniform_(w)
    return w

def scaled_dot_product_attention(q, k, v, mask=None):
    s = torch.matmul(q, torch.transpose(k, -1, -2))
    s /= math.sqrt(q.shape[-1])
    if mask is not None:
        s = torch.where(mask != 0, s, torch.full_like(s, -10.0))
    w = torch.exp(torch.log_softmax(s, -1))
    return torch.matmul(w, v), w

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0, (d_model, n_heads)
        self.H = n_heads
        self.Wo = _matrix(d_model, d_model)
        self.Wv = _matrix(d_model, d_model)
        self.Wk = _matrix(d_model, d_model)
        self.Wq = _matrix(d_model, d_model)
    def forward(self, q, k, v, mask=None):
        def heads(x):
            return torch.stack(torch.chunk(x, self.H, dim=-1), dim=1)
        o, w = scaled_dot_product_attention(heads(q @ self.Wq), heads(k @ self.Wk), heads(v @ self.Wv), mask)
        o = torch.cat(torch.unbind(o, dim=1), dim=-1)
        return o @ self.Wo, w

def sinusoidal_positional_encoding(max_len, d_model):
    p = torch.arange(max_len, dtype=torch.float64)[:, None]
    two_i = torch.arange(0, d_model, 2, dtype=torch.float64)[None, :]
    z = torch.exp(1j * p / torch.pow(torch.tensor(10000., dtype=torch.float64), two_i / d_model))
    # e^{ia} = cos a + i sin a; sine comes first
    return torch.view_as_real(z).flip(-1).flatten(1).float()

def causal_mask(size):
    return torch.full((size, size), True).tril()

class LayerNorm(nn.Module):
    def __init__(self, n, eps=1e-5):
        super().__init__()
        self.g = nn.Parameter(torch.ones(n))
        self.b = nn.Parameter(torch.zeros(n))
        self.eps = eps
    def forward(self, x):
        mu = x.mean(-1, keepdim=True)
        var = ((x - mu) ** 2).mean(-1, keepdim=True)
        return self.g * (x - mu) / torch.sqrt(var + self.eps) + self.b

class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.W1 = _matrix(d_model, d_ff); self.b1 = nn.Parameter(torch.zeros(d_ff))
        self.W2 = _matrix(d_ff, d_model); self.b2 = nn.Parameter(torch.zeros(d_model))
        self.mha = MultiHeadAttention(d_model, n_heads)
        self.n1 = LayerNorm(d_model)
        self.n2 = LayerNorm(d_model)
    def forward(self, x, key_padding_mask=None):
        m = None
        if key_padding_mask is not None:
            m = (1 - key_padding_mask.int())[:, None, None, :]
        x = self.n1(x + self.mha(x, x, x, m)[0])
        return self.n2(x + torch.relu(x @ self.W1 + self.b1) @ self.W2 + self.b2)

class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.cross = MultiHeadAttention(d_model, n_heads)
        self.W1 = _matrix(d_model, d_ff); self.b1 = nn.Parameter(torch.zeros(d_ff))
        self.W2 = _matrix(d_ff, d_model); self.b2 = nn.Parameter(torch.zeros(d_model))
        self.own = MultiHeadAttention(d_model, n_heads)
        self.n3 = LayerNorm(d_model)
        self.n2 = LayerNorm(d_model)
        self.n1 = LayerNorm(d_model)
    def forward(self, x, memory, memory_key_padding_mask=None):
        m = None
        if memory_key_padding_mask is not None:
            m = (1 - memory_key_padding_mask.int())[:, None, None, :]
        a = self.n1(x + self.own(x, x, x, causal_mask(x.shape[1]).int())[0])
        c = self.n2(a + self.cross(a, memory, memory, m)[0])
        return self.n3(c + torch.relu(c @ self.W1 + self.b1) @ self.W2 + self.b2)

class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.k = patch_size
        self.E = _matrix(patch_size * patch_size, d_model)
        self.C = nn.Parameter(torch.zeros(d_model))
        self.P = nn.Parameter(0.02 * torch.randn((8 // patch_size) ** 2 + 1, d_model))
        self.enc = EncoderBlock(d_model, n_heads, d_ff)
        self.Wh = _matrix(d_model, n_classes); self.bh = nn.Parameter(torch.zeros(n_classes))
    def forward(self, images):
        b, k = images.shape[0], self.k
        n = 8 // k
        x = images.view(b, n, k, n, k).permute(0, 1, 3, 2, 4).reshape(b, n * n, k * k)
        x = x @ self.E
        x = torch.cat([self.C.repeat(b, 1, 1), x], dim=1) + self.P
        return self.enc(x)[:, 0] @ self.Wh + self.bh

def mean_aggregate(features, adjacency):
    hat = adjacency.bool().clone()
    hat.fill_diagonal_(True)
    src, dst = hat.nonzero(as_tuple=True)        # src takes from dst
    total = torch.zeros_like(features).index_add(0, src, features[dst])
    count = torch.zeros(features.shape[0]).index_add(0, src, torch.ones(len(src)))
    return total / count[:, None]
