import torch, math
import torch.nn as nn
import torch.nn.functional as F

Q, K, V, O = range(4)

def scaled_dot_product_attention(query, key, value, mask=None):
    alpha = 1 / math.sqrt(query.shape[-1])
    weights = torch.matmul(alpha * query, key.swapdims(-1, -2))
    if mask is not None:
        weights = weights + torch.log((mask != 0).to(weights.dtype))      # log 1 = 0, log 0 = -inf
    weights = weights.softmax(-1)
    return weights.matmul(value), weights

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert not d_model % n_heads
        self.n_heads = n_heads
        self.W = nn.Parameter(torch.empty(4, d_model, d_model))
        nn.init.normal_(self.W, std=1 / math.sqrt(d_model))
    def forward(self, query, key, value, mask=None):
        def heads(x, which):
            y = F.linear(x, self.W[which])
            return y.view(*y.shape[:-1], self.n_heads, -1).transpose(-3, -2)
        out, w = scaled_dot_product_attention(heads(query, Q), heads(key, K), heads(value, V), mask)
        out = out.transpose(-3, -2).flatten(-2)
        return F.linear(out, self.W[O]), w

def sinusoidal_positional_encoding(max_len, d_model):
    pe = torch.arange(max_len, dtype=torch.float64).unsqueeze(1).repeat(1, d_model)
    pe /= 10000 ** (torch.arange(d_model, dtype=torch.float64).div(2, rounding_mode="floor") * 2 / d_model)
    pe[:, ::2].sin_()
    pe[:, 1::2].cos_()
    return pe.float()

def causal_mask(size):
    rows, cols = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    return cols.le(rows)

class Block(nn.Module):
    """Encoder block without `cross`, decoder block with it."""
    cross = False
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        n = 2 + self.cross
        self.gain = nn.ParameterList([torch.ones(d_model) for _ in range(n)])
        self.shift = nn.ParameterList([torch.zeros(d_model) for _ in range(n)])
        self.attentions = nn.ModuleList([MultiHeadAttention(d_model, n_heads) for _ in range(n - 1)])
        self.inner = nn.Parameter(torch.randn(d_ff, d_model) / math.sqrt(d_model))
        self.inner_bias = nn.Parameter(torch.zeros(d_ff))
        self.outer = nn.Parameter(torch.randn(d_model, d_ff) / math.sqrt(d_ff))
        self.outer_bias = nn.Parameter(torch.zeros(d_model))
    def norm(self, i, x):
        return F.layer_norm(x, x.shape[-1:], self.gain[i], self.shift[i])
    def ffn(self, x):
        return F.linear(F.relu(F.linear(x, self.inner, self.inner_bias)), self.outer, self.outer_bias)

class EncoderBlock(Block):
    def forward(self, x, key_padding_mask=None):
        m = key_padding_mask if key_padding_mask is None else key_padding_mask[:, None, None].logical_not()
        x = self.norm(0, x + self.attentions[0](x, x, x, m)[0])
        return self.norm(1, x + self.ffn(x))

class DecoderBlock(Block):
    cross = True
    def forward(self, x, memory, memory_key_padding_mask=None):
        m = memory_key_padding_mask
        m = m if m is None else m[:, None, None].logical_not()
        x = self.norm(0, x + self.attentions[0](x, x, x, causal_mask(x.shape[1]))[0])
        x = self.norm(1, x + self.attentions[1](x, memory, memory, m)[0])
        return self.norm(2, x + self.ffn(x))

class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.patch_size = patch_size
        self.patch = nn.Linear(patch_size * patch_size, d_model)
        self.pos = nn.Parameter(torch.zeros((8 // patch_size) ** 2 + 1, d_model))   # zeros at first
        self.cls = nn.Parameter(torch.randn(d_model))
        self.encoder = EncoderBlock(d_model, n_heads, d_ff)
        self.head = nn.Linear(d_model, n_classes)
    def forward(self, images):
        p = self.patch_size
        # gather by index: which flat pixels belong to which square
        pixel = torch.arange(64).view(8, 8).unfold(0, p, p).unfold(1, p, p).reshape(-1, p * p)
        x = self.patch(images.reshape(-1, 64)[:, pixel])
        x = torch.cat([self.cls.expand(len(x), 1, -1), x], 1)
        return self.head(self.encoder(x + self.pos)[:, 0])

def mean_aggregate(features, adjacency):
    A = torch.eye(len(adjacency)).max(adjacency.float())
    D_inv = A.sum(1).reciprocal().diag()
    return torch.linalg.multi_dot([D_inv, A, features])
