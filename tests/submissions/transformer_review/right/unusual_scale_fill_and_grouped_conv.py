import torch
import torch.nn as nn
import torch.nn.functional as F


def scaled_dot_product_attention(Q, K, V, M=None):
    # cosine-free, plain: sum_d Q_id K_jd / sqrt(d)
    S = torch.sum(Q.unsqueeze(-2) * K.unsqueeze(-3), dim=-1) * torch.rsqrt(torch.tensor(float(Q.size(-1))))
    if M is not None:
        S = S.masked_fill((M != 1), -1e4)
    A = torch.exp(S - S.amax(dim=-1, keepdim=True))
    A = A / A.sum(dim=-1, keepdim=True)
    O = torch.sum(A.unsqueeze(-1) * V.unsqueeze(-3), dim=-2)
    return O, A


class MultiHeadAttention(nn.Module):
    """The output projection is a 1 x 1 convolution over a (B, D, T) map, the inputs are one grouped Linear."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model % n_heads")
        self.n_heads = n_heads
        self.kv_proj = nn.Linear(d_model, 2 * d_model, bias=False)
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.o_proj = nn.Conv1d(d_model, d_model, 1, bias=False)

    def forward(self, Q, K, V, M=None):
        B, T, D = Q.shape
        H = self.n_heads
        q = self.q_proj(Q).view(B, T, H, D // H).transpose(1, 2)
        k = self.kv_proj(K)[:, :, :D].reshape(B, -1, H, D // H).transpose(1, 2)
        v = self.kv_proj(V)[:, :, D:].reshape(B, -1, H, D // H).transpose(1, 2)
        O, A = scaled_dot_product_attention(q, k, v, M)
        O = O.transpose(2, 3).reshape(B, D, T)                  # channels first
        return self.o_proj(O).transpose(1, 2), A


def sinusoidal_positional_encoding(n, d):
    table = torch.zeros(n, d)
    pos = torch.arange(n).view(n, 1)
    for name, start in ((torch.sin, 0), (torch.cos, 1)):
        table[:, start::2] = name(pos / 10000 ** (torch.arange(0, d, 2) / d))
    return table


def causal_mask(n):
    return torch.tril(torch.ones(n, n)) > 0


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.att = MultiHeadAttention(d_model, n_heads)
        self.w1 = nn.Parameter(torch.empty(d_ff, d_model)); nn.init.xavier_uniform_(self.w1)
        self.w2 = nn.Parameter(torch.empty(d_model, d_ff)); nn.init.xavier_uniform_(self.w2)
        self.c1 = nn.Parameter(torch.zeros(d_ff))
        self.c2 = nn.Parameter(torch.zeros(d_model))
        self.g = nn.ParameterList([nn.Parameter(torch.ones(d_model)) for _ in range(2)])
        self.h = nn.ParameterList([nn.Parameter(torch.zeros(d_model)) for _ in range(2)])

    def ln(self, i, x):
        z = x - x.mean(dim=2, keepdim=True)
        return z * (z.pow(2).mean(dim=2, keepdim=True) + 1e-6).pow(-0.5) * self.g[i] + self.h[i]

    def forward(self, x, pad=None):
        M = None if pad is None else (1 - pad.long()).view(pad.size(0), 1, 1, pad.size(1))
        x = self.ln(0, x + self.att(x, x, x, M)[0])
        return self.ln(1, x + F.linear(F.relu(F.linear(x, self.w1, self.c1)), self.w2, self.c2))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.inner = EncoderBlock(d_model, n_heads, d_ff)          # lends its cross-attention, FFN and norms
        self.causal = MultiHeadAttention(d_model, n_heads)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x, memory, memory_pad=None):
        x = self.norm(x + self.causal(x, x, x, causal_mask(x.size(1)).float())[0])
        M = None if memory_pad is None else (1 - memory_pad.long()).view(memory.size(0), 1, 1, memory.size(1))
        e = self.inner
        x = e.ln(0, x + e.att(x, memory, memory, M)[0])
        return e.ln(1, x + F.linear(F.relu(F.linear(x, e.w1, e.c1)), e.w2, e.c2))


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        k = 8 // patch_size
        self.k, self.s = k, patch_size
        self.patch = nn.Parameter(torch.empty(d_model, 1, patch_size, patch_size)); nn.init.kaiming_uniform_(self.patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, d_model))
        self.pos = nn.Parameter(torch.randn(1, k * k + 1, d_model) * 0.1)
        self.enc = EncoderBlock(d_model, n_heads, d_ff)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, images):
        x = F.conv2d(images[:, None] - 0.5, self.patch, stride=self.s)
        x = x.view(x.size(0), x.size(1), -1).transpose(1, 2)
        z = self.cls.expand(x.size(0), 1, x.size(2))
        return self.head(self.enc(torch.cat([z, x], 1) + self.pos)[:, 0])


def mean_aggregate(X, A):
    A = A.to(X.dtype)
    eye = torch.eye(A.size(0), dtype=X.dtype)
    A = A + eye - A * eye
    return (A @ X) * (1.0 / A.sum(1))[:, None]
