from typing import NamedTuple, Optional
import torch
from torch import nn, Tensor


class Attended(NamedTuple):
    output: Tensor
    weights: Tensor


class BlockResult(NamedTuple):
    output: Tensor
    attention: Tensor


def weight(n_in, n_out):
    return nn.Parameter(torch.nn.init.xavier_normal_(torch.empty(n_in, n_out)))


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor] = None) -> Attended:
    similarity = torch.tensordot(query, key, dims=([-1], [-1])) if query.dim() == 2 else query @ key.mT
    similarity = similarity * query.shape[-1] ** -0.5
    if mask is not None:
        similarity = torch.masked_fill(similarity, mask.logical_not(), -1e9)
    w = torch.nn.functional.softmax(similarity, dim=-1)
    return Attended(w @ value, w)


def multi_head(p, prefix, n_heads, query, key, value, mask):
    def heads(x, name):
        y = x @ p[prefix + name]
        return y.reshape(y.shape[0], y.shape[1], n_heads, -1).permute(0, 2, 1, 3)

    out, w = scaled_dot_product_attention(heads(query, "q"), heads(key, "k"), heads(value, "v"), mask)
    return out.permute(0, 2, 1, 3).flatten(2) @ p[prefix + "o"], w


def layer_norm(p, name, x):
    centred = x - x.mean(-1, keepdim=True)
    scale = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    return centred / scale * p[name + "_gain"] + p[name + "_bias"]


def feed_forward(p, x):
    return (x @ p["ff_in"] + p["ff_in_bias"]).relu() @ p["ff_out"] + p["ff_out_bias"]


def attention_weights(prefix, d):
    return {prefix + n: weight(d, d) for n in "qkvo"}


def norm_weights(name, d):
    return {name + "_gain": nn.Parameter(torch.ones(d)), name + "_bias": nn.Parameter(torch.zeros(d))}


def ff_weights(d, f):
    return {"ff_in": weight(d, f), "ff_in_bias": nn.Parameter(torch.zeros(f)),
            "ff_out": weight(f, d), "ff_out_bias": nn.Parameter(torch.zeros(d))}


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads does not divide d_model")
        self.n_heads = n_heads
        self.p = nn.ParameterDict(attention_weights("", d_model))

    def forward(self, query, key, value, mask=None):
        return multi_head(self.p, "", self.n_heads, query, key, value, mask)


def sinusoidal_positional_encoding(max_len: int, d_model: int) -> Tensor:
    angle = torch.arange(max_len, dtype=torch.float64).outer(
        torch.logspace(0, -4 * (1 - 2 / d_model), d_model // 2, base=10, dtype=torch.float64)
    )
    return torch.dstack((angle.sin(), angle.cos())).reshape(max_len, d_model).to(torch.get_default_dtype())


def causal_mask(size: int) -> Tensor:
    return torch.arange(size)[:, None].ge(torch.arange(size)[None, :])


class EncoderBlock(nn.Module):
    def __init__(self, d_model: int, n_heads: int, d_ff: int):
        super().__init__()
        self.n_heads = n_heads
        self.p = nn.ParameterDict({
            **ff_weights(d_model, d_ff), **norm_weights("n2", d_model),
            **attention_weights("self_", d_model), **norm_weights("n1", d_model),
        })

    def forward(self, x, key_padding_mask=None) -> BlockResult:
        mask = None if key_padding_mask is None else ~key_padding_mask[:, None, None, :]
        y, w = multi_head(self.p, "self_", self.n_heads, x, x, x, mask)
        x = layer_norm(self.p, "n1", x + y)
        x = layer_norm(self.p, "n2", x + feed_forward(self.p, x))
        return BlockResult(x, w)


class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, n_heads: int, d_ff: int):
        super().__init__()
        self.n_heads = n_heads
        self.p = nn.ParameterDict({
            **ff_weights(d_model, d_ff), **norm_weights("n2", d_model), **attention_weights("cross_", d_model),
            **norm_weights("n3", d_model), **attention_weights("self_", d_model), **norm_weights("n1", d_model),
        })

    def forward(self, x, memory, memory_key_padding_mask=None) -> BlockResult:
        mask = None if memory_key_padding_mask is None else ~memory_key_padding_mask[:, None, None, :]
        y, _ = multi_head(self.p, "self_", self.n_heads, x, x, x, causal_mask(x.shape[1]))
        x = layer_norm(self.p, "n1", x + y)
        y, w = multi_head(self.p, "cross_", self.n_heads, x, memory, memory, mask)
        x = layer_norm(self.p, "n2", x + y)
        x = layer_norm(self.p, "n3", x + feed_forward(self.p, x))
        return BlockResult(x, w)


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.patch_size = patch_size
        n = (8 // patch_size) ** 2
        self.p = nn.ParameterDict({
            "patch": weight(patch_size ** 2, d_model), "cls": nn.Parameter(torch.randn(d_model) * 0.02),
            "position": nn.Parameter(torch.randn(n, d_model) * 0.02),
            "head": weight(d_model, n_classes), "head_bias": nn.Parameter(torch.zeros(n_classes)),
        })
        self.block = EncoderBlock(d_model, n_heads, d_ff)

    def forward(self, images):
        k = self.patch_size
        rows = torch.cat(images.unsqueeze(1).split(k, dim=2), dim=1)
        tiles = torch.stack(rows.split(k, dim=3), dim=2).flatten(3).flatten(1, 2)
        x = tiles @ self.p["patch"] + self.p["position"]
        x = torch.cat([self.p["cls"].expand(x.shape[0], 1, -1), x], dim=1)
        return self.block(x).output[:, 0] @ self.p["head"] + self.p["head_bias"]


def mean_aggregate(features, adjacency):
    a = adjacency.bool()
    a = a ^ (a & torch.eye(a.shape[0], dtype=torch.bool))         # without the diagonal
    total = a.float() @ features + features
    return total / (a.sum(1, keepdim=True) + 1)
