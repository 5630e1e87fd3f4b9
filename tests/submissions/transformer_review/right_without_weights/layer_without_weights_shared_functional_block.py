"""The function gives (output, weights), the layer the output only. Cross- and self-attention share one helper."""
import math
import torch
import torch.nn as nn

def scaled_dot_product_attention(Q, K, V, mask=None):
    S = (Q / math.sqrt(math.sqrt(Q.shape[-1]))) @ (K / K.shape[-1] ** 0.25).transpose(-1, -2)
    if mask is not None:
        S = S.masked_fill(torch.as_tensor(mask) < 0.5 if mask.is_floating_point() else mask == False, -torch.inf)
    A = torch.exp(S - torch.logsumexp(S, -1, keepdim=True))
    return A @ V, A

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, *, q_bias=True, k_bias=False, v_bias=True, o_bias=False):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads")
        self.n_heads = n_heads
        self.layers = nn.ModuleDict(dict(
            o=nn.Linear(d_model, d_model, o_bias), k=nn.Linear(d_model, d_model, k_bias),
            v=nn.Linear(d_model, d_model, v_bias), q=nn.Linear(d_model, d_model, q_bias)))
    def forward(self, query, key, value, mask=None):
        def h(n, x):
            y = self.layers[n](x)
            return y.reshape(y.shape[0], y.shape[1], self.n_heads, -1).permute(0, 2, 1, 3)
        out, _ = scaled_dot_product_attention(h("q", query), h("k", key), h("v", value), mask)
        return self.layers["o"](out.permute(0, 2, 1, 3).reshape(*query.shape))

def sinusoidal_positional_encoding(max_len, d_model):
    w = torch.tensor([10000 ** (-2 * k / d_model) for k in range(d_model // 2)], dtype=torch.float64)
    t = torch.arange(max_len, dtype=torch.float64)
    e = torch.exp(1j * torch.outer(t, w))
    return torch.stack([e.imag, e.real], 2).reshape(max_len, d_model).to(torch.float32)

def causal_mask(size):
    return torch.ones((size, size), dtype=torch.bool).tril(0)

def post(norm, x, f, *args):
    return norm(x + f(x, *args))

def not_padding(m):
    return None if m is None else torch.logical_not(m).unsqueeze(1).unsqueeze(1)

class MLP(nn.Module):
    def __init__(self, i, h):
        super().__init__()
        self.f = nn.Conv1d(i, h, 1); self.g = nn.Conv1d(h, i, 1)
    def forward(self, x):
        return self.g(self.f(x.permute(0, 2, 1)).relu()).permute(0, 2, 1)

class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.mha, self.mlp = MultiHeadAttention(d_model, n_heads), MLP(d_model, d_ff)
        self.beta, self.alpha = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
    def forward(self, x, key_padding_mask=None):
        m = not_padding(key_padding_mask)
        return post(self.beta, post(self.alpha, x, lambda y: self.mha(y, y, y, m)), self.mlp)

class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.m1, self.m2, self.mlp = MultiHeadAttention(d_model, n_heads), MultiHeadAttention(d_model, n_heads), MLP(d_model, d_ff)
        self.alpha, self.beta, self.gamma = nn.LayerNorm(d_model), nn.LayerNorm(d_model), nn.LayerNorm(d_model)
    def forward(self, x, memory, memory_key_padding_mask=None):
        c, m = causal_mask(x.shape[-2]), not_padding(memory_key_padding_mask)
        x = post(self.gamma, x, lambda y: self.m2(y, y, y, c))
        x = post(self.alpha, x, lambda y: self.m1(y, memory, memory, m))
        return post(self.beta, x, self.mlp)

class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.p = patch_size
        self.down = nn.PixelUnshuffle(patch_size)            # (B,1,8,8) -> (B,p*p,8/p,8/p)
        self.lin = nn.Linear(patch_size ** 2, d_model)
        self.cls = nn.Embedding(1, d_model)
        self.pos = nn.Parameter(torch.randn((8 // patch_size) ** 2 + 1, d_model) * .1)
        self.enc = EncoderBlock(d_model, n_heads, d_ff)
        self.cls_head = nn.Sequential(nn.Linear(d_model, d_model), nn.Tanh(), nn.Linear(d_model, n_classes))
    def forward(self, images):
        x = self.lin(self.down(images[:, None]).flatten(2).permute(0, 2, 1))
        x = torch.cat([self.cls.weight.expand(len(x), 1, -1), x], 1) + self.pos
        return self.cls_head(self.enc(x)[:, 0, :])

def mean_aggregate(features, adjacency):
    eye = torch.eye(adjacency.shape[0], dtype=torch.bool, device=adjacency.device)
    a = torch.where(eye, torch.ones_like(adjacency), adjacency).to(features.dtype)
    return torch.einsum("ij,jf,i->if", a, features, a.sum(1).reciprocal())
