"""All projections are convolutions of width one over the channel axis."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    dk = key.size(-1)
    logits = torch.einsum("...qc,...kc->...qk", query, key) * dk ** (-0.5)
    if mask is not None:
        blocked = torch.logical_not(mask.to(torch.bool))
        logits = logits.masked_fill(blocked, -torch.inf)
    att = F.softmax(logits, dim=-1)
    return torch.einsum("...qk,...kc->...qc", att, value), att


def pointwise(cin, cout, bias):
    return nn.Conv1d(cin, cout, kernel_size=1, bias=bias)


class MultiHeadAttention(nn.Module):
    def __init__(self, channels, heads, bias=False):
        super().__init__()
        if channels % heads > 0:
            raise ValueError("channels % heads != 0")
        self.heads = heads
        self.conv_q = pointwise(channels, channels, bias)
        self.conv_k = pointwise(channels, channels, bias)
        self.conv_v = pointwise(channels, channels, bias)
        self.conv_o = pointwise(channels, channels, bias)

    def forward(self, x, c, d, attn_mask=None):
        q = self.conv_q(x.transpose(1, 2))
        k = self.conv_k(c.transpose(1, 2))
        v = self.conv_v(d.transpose(1, 2))
        b, ch, t = q.shape
        q, k, v = (z.unsqueeze(1).transpose(2, 3) for z in (q, k, v))
        y, att = scaled_dot_product_attention(q, k, v, attn_mask)
        y = y.transpose(2, 3).contiguous().view(b, ch, t)
        return self.conv_o(y).transpose(1, 2), att


class ChannelNorm(nn.Module):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.channels, self.eps = channels, eps
        self.gamma = nn.Parameter(torch.ones(channels))
        self.beta = nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        return F.layer_norm(x, (self.channels,), self.gamma, self.beta, self.eps)


class FFN(nn.Module):
    def __init__(self, channels, hidden):
        super().__init__()
        self.conv_1 = pointwise(channels, hidden, True)
        self.conv_2 = pointwise(hidden, channels, True)

    def forward(self, x):
        return self.conv_2(torch.relu(self.conv_1(x.mT))).mT


def sinusoidal_positional_encoding(length, channels):
    position = torch.arange(length).double()
    out = torch.zeros(length, channels, dtype=torch.double)
    for c in range(channels):
        pair = c // 2
        angle = position / (10000 ** (2 * pair / channels))
        out[:, c] = angle.cos() if c % 2 else angle.sin()
    return out.to(torch.float32)


def causal_mask(length):
    return torch.tril(torch.ones((length, length), dtype=torch.bool))


class EncoderBlock(nn.Module):
    def __init__(self, channels, heads, hidden):
        super().__init__()
        self.attn_layer = MultiHeadAttention(channels, heads)
        self.norm_layer_1 = ChannelNorm(channels)
        self.ffn_layer = FFN(channels, hidden)
        self.norm_layer_2 = ChannelNorm(channels)

    def forward(self, x, key_padding_mask=None):
        m = None if key_padding_mask is None else (~key_padding_mask).unsqueeze(1).unsqueeze(2)
        y, _ = self.attn_layer(x, x, x, m)
        x = self.norm_layer_1(x + y)
        return self.norm_layer_2(x + self.ffn_layer(x))


class DecoderBlock(nn.Module):
    def __init__(self, channels, heads, hidden):
        super().__init__()
        self.self_attn_layer = MultiHeadAttention(channels, heads)
        self.norm_layer_0 = ChannelNorm(channels)
        self.encdec_attn_layer = MultiHeadAttention(channels, heads)
        self.norm_layer_1 = ChannelNorm(channels)
        self.ffn_layer = FFN(channels, hidden)
        self.norm_layer_2 = ChannelNorm(channels)

    def forward(self, x, h, h_mask=None):
        y, _ = self.self_attn_layer(x, x, x, causal_mask(x.size(1)).to(x.device))
        x = self.norm_layer_0(x + y)
        m = None if h_mask is None else (~h_mask).unsqueeze(1).unsqueeze(2)
        y, _ = self.encdec_attn_layer(x, h, h, m)
        x = self.norm_layer_1(x + y)
        return self.norm_layer_2(x + self.ffn_layer(x))


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.stem = nn.Conv2d(1, d_model, patch_size, patch_size, bias=False)
        self.cls = nn.Parameter(torch.randn(1, d_model, 1) * 0.1)
        self.pos = nn.Parameter(torch.randn(1, d_model, (8 // patch_size) ** 2 + 1) * 0.1)
        self.enc = EncoderBlock(d_model, n_heads, d_ff)
        self.norm = ChannelNorm(d_model)
        self.fc = nn.Linear(d_model, n_classes)

    def forward(self, images):
        x = self.stem(images.unsqueeze(1)).flatten(2)              # (B, D, N)
        x = torch.cat((self.cls.expand(x.size(0), -1, -1), x), dim=2) + self.pos
        x = self.enc(x.mT)
        return self.fc(self.norm(x)[:, 0])


def mean_aggregate(features, adjacency):
    n = adjacency.size(0)
    eye = torch.eye(n, device=adjacency.device)
    a = torch.maximum(adjacency.to(eye.dtype), eye)
    return F.normalize(a, p=1, dim=1) @ features
