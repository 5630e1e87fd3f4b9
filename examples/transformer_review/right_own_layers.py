"""Lesson 115, review homework: every layer written by myself, down to the LayerNorm."""

import math

import torch
from torch import nn

# ---- 1. attention ----


def scaled_dot_product_attention(query, key, value, mask=None):
    """mask: True = may attend"""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -math.inf)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"{n_heads} heads do not divide {d_model} features")
        self.n_heads = n_heads
        self.q = nn.Linear(d_model, d_model, bias=False)
        self.k = nn.Linear(d_model, d_model, bias=False)
        self.v = nn.Linear(d_model, d_model, bias=False)
        self.o = nn.Linear(d_model, d_model, bias=False)

    def split(self, x):
        batch, length, d_model = x.shape
        return x.reshape(batch, length, self.n_heads, d_model // self.n_heads).transpose(1, 2)

    def merge(self, x):
        batch, n_heads, length, d_k = x.shape
        return x.transpose(1, 2).reshape(batch, length, n_heads * d_k)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.split(self.q(query)), self.split(self.k(key)), self.split(self.v(value))
        output, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.o(self.merge(output)), weights


# ---- parts that both blocks need ----


class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = x.var(-1, keepdim=True, unbiased=False)
        return self.gain * (x - mean) / torch.sqrt(variance + self.eps) + self.bias


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.contract(torch.relu(self.expand(x)))


def may_attend(key_padding_mask):
    """(B, T) with True = ignore  ->  (B, 1, 1, T) with True = may attend"""
    if key_padding_mask is None:
        return None
    return ~key_padding_mask[:, None, None, :]


# ---- 2. and 3. blocks ----


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm1 = LayerNorm(d_model)
        self.ffn = FeedForward(d_model, d_ff)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x, key_padding_mask=None):
        attended, _ = self.attention(x, x, x, may_attend(key_padding_mask))
        x = self.norm1(x + attended)
        return self.norm2(x + self.ffn(x))


def causal_mask(size):
    return torch.tril(torch.ones(size, size)).bool()


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.norm1 = LayerNorm(d_model)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = LayerNorm(d_model)
        self.ffn = FeedForward(d_model, d_ff)
        self.norm3 = LayerNorm(d_model)

    def forward(self, x, memory, memory_key_padding_mask=None):
        attended, _ = self.self_attention(x, x, x, causal_mask(x.shape[1]))
        x = self.norm1(x + attended)
        mask = may_attend(memory_key_padding_mask)
        attended, _ = self.cross_attention(x, memory, memory, mask)
        x = self.norm2(x + attended)
        return self.norm3(x + self.ffn(x))


# ---- 4. positions ----


def sinusoidal_positional_encoding(max_len, d_model):
    position = torch.arange(max_len).unsqueeze(1)
    angle = position / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    pe = torch.zeros(max_len, d_model)
    pe[:, 0::2] = angle.sin()
    pe[:, 1::2] = angle.cos()
    return pe


# ---- 6. PixelBERT ----


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.patch_size = patch_size
        n_patches = (8 // patch_size) ** 2
        self.project = nn.Linear(patch_size**2, d_model)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model) * 0.02)
        self.positions = nn.Parameter(torch.randn(1, n_patches + 1, d_model) * 0.02)
        self.block = EncoderBlock(d_model, n_heads, d_ff)
        self.head = nn.Linear(d_model, n_classes)

    def patches(self, images):
        """(B, 8, 8) -> (B, P, p * p), square by square"""
        p = self.patch_size
        squares = images.unfold(1, p, p).unfold(2, p, p)  # (B, 8 / p, 8 / p, p, p)
        return squares.reshape(images.shape[0], -1, p * p)

    def forward(self, images):
        x = self.project(self.patches(images))
        cls = self.cls.expand(x.shape[0], -1, -1)
        x = torch.cat([cls, x], dim=1) + self.positions
        return self.head(self.block(x)[:, 0])


# ---- 7. graph layer ----


def mean_aggregate(features, adjacency):
    n = adjacency.shape[0]
    with_self = torch.maximum(adjacency, torch.eye(n))  # a self-loop that is there stays 1
    return with_self @ features / with_self.sum(dim=1, keepdim=True)


# ---- 8. questions ----

ANSWERS = {
    "encoder-block-parameters": 8416,
    "decoder-block-parameters": [4096, 4096, 4192, 192, 12576],
    "order-of-the-decoder-sublayers": "D",
    "shapes-through-the-decoder-block": [
        (2, 4, 7, 7),
        (2, 7, 32),
        (2, 4, 7, 11),
        (2, 7, 32),
        (2, 7, 64),
        (2, 7, 32),
    ],
    "sides-of-cross-attention": {
        "queries": "decoder",
        "keys": "encoder",
        "values": "encoder",
        "residual": "decoder",
        "rows": "decoder",
        "columns": "encoder",
    },
    "where-the-causal-mask-goes": {
        "encoder self-attention": "not causal",
        "decoder self-attention": "causal",
        "cross-attention": "not causal",
        "BERT self-attention": "not causal",
        "GPT-2 self-attention": "causal",
        "ViT self-attention": "not causal",
    },
    "causal-mask-in-the-encoder": "A",
    "expression-for-the-causal-mask": "C",
    "training-without-the-causal-mask": "B",
    "sinusoidal-row-for-four-dimensions": {
        "pos": 3,
        "dim0": 0.1411,
        "dim1": -0.99,
        "dim2": 0.03,
        "dim3": 0.9996,
    },
    "shift-of-a-sinusoidal-position": "B",
    "score-entries-when-length-doubles": {"n": 1024, "entries": 1048576},
    "cost-factor-for-triple-length": 9,
    "all-scores-of-a-model": 37748736,
    "whole-layer-less-than-fourfold": "D",
    "operations-of-the-whole-layer": 2.67,
    "family-of-each-model": {
        "BERT": "encoder-only",
        "GPT-2": "decoder-only",
        "T5": "encoder-decoder",
        "ViT": "encoder-only",
        "PixelBERT": "encoder-only",
        "Transformer of 2017": "encoder-decoder",
    },
    "use-of-each-model": {
        "BERT": "understanding text",
        "GPT-2": "continuing text",
        "T5": "text to text",
        "ViT": "classifying images",
    },
    "model-with-cross-attention": "A",
    "pixelbert-encoder-input": (16, 17, 32),
    "pixelbert-weights-for-large-patches": (5, 4, 5, 5),
    "patches-by-plain-reshape": "C",
    "loss-of-guessing-ten-classes": 2.3026,
    "images-behind-an-accuracy": 7,
    "second-round-on-the-path": {"round": 2, "node0": 3.0, "node1": 2.5, "node2": 2.25},
    "mean-on-a-directed-graph": [5.0, 3.0, 5.0, 3.5],
    "decoder-block-by-analogy": (
        "A translator has the original on the left and her own draft on the right. First she "
        "reads again what she has written so far, and of course nothing that she has not written "
        "yet. With that in mind she knows what to look for in the original, and now she may look "
        "at any place in it. The first look is the masked self-attention, the second the "
        "cross-attention: the question comes from the draft, the answers from the original. The "
        "analogy breaks in training, where all words of the draft are worked on at the same time "
        "and the mask only pretends that the rest does not exist. And looking means taking a "
        "weighted average of everything, not choosing one place."
    ),
    "recipe-without-the-causal-mask": (
        "If one just leaves the mask out, every position can see the word that it should predict. "
        "The loss goes down nicely, and when generating the model fails, since that word is not "
        "there yet. But training without a mask is possible: one feeds each beginning of the text "
        "by itself and predicts only the word after it. That is right, but a text with T words "
        "becomes T inputs, so it costs about T times as much. A recurrent layer would also do, as "
        "it is causal by itself, but it cannot work on all positions at once. So what only the "
        "mask gives is all T predictions in one pass. For T = 1 it makes no difference."
    ),
    "is-d-ff-always-four-times": (
        "Four times is a habit and not a law: in the block of the second claim d_ff is only twice "
        "d_model, and any positive d_ff works. The 8,416 hold when the attention's projections "
        "have no biases, the two linear layers of the FFN have them, and there are two LayerNorms "
        "with gain and bias: 4096 + 4192 + 128. With biases in the projections, as PyTorch has "
        "them, it is 8,544. The number of heads does not change the count, because the matrices "
        "stay 32 by 32 and are only shared out differently. With 5 heads there is no such block, "
        "as 5 does not divide 32."
    ),
    "does-averaging-neighbours-always-work": (
        "A node without neighbours keeps its own feature thanks to the self-loop; without it the "
        "mean would be 0/0. Without self-loops two connected nodes just swap their features in "
        "each round and never settle. If all features are equal, the mean returns them and the "
        "graph leaves no trace. After many layers all nodes of a connected part have nearly the "
        "same features. The layer cannot tell one neighbour with feature 3 from ten neighbours "
        "with feature 3; a sum could. Self-attention also takes means, but over all tokens and "
        "with weights that depend on the content, where here all neighbours count the same."
    ),
    "what-makes-what-possible": (
        "scaled dot-product attention -> multi-head attention, because a head is just that "
        "function on a slice of the projected features.\n"
        "multi-head attention -> blocks, because the shape stays the same, so that the residual "
        "can be added and blocks can be stacked.\n"
        "encoder blocks -> BERT and ViT, because they read an input that is known as a whole.\n"
        "causal decoder blocks -> GPT-2, because a text is continued from left to right.\n"
        "encoder and decoder blocks -> T5, because cross-attention joins the two.\n"
        "a score for each pair -> quadratic cost, because n tokens have n² pairs.\n"
        "quadratic cost -> patches in ViT, because 16 patches are cheaper than 64 pixels.\n"
        "Wrong: more heads -> more parameters. The matrices stay d_model by d_model."
    ),
}


if __name__ == "__main__":
    encoder, decoder = EncoderBlock(32, 4, 64), DecoderBlock(32, 4, 64)
    print("encoder block:", sum(p.numel() for p in encoder.parameters()))  # 8416
    print("decoder block:", sum(p.numel() for p in decoder.parameters()))  # 12576

    torch.manual_seed(42)
    q, k, v = torch.randn(4, 8), torch.randn(4, 8), torch.randn(4, 8)
    print("trace, row 0:", scaled_dot_product_attention(q, k, v)[1][0])

    images, labels = torch.rand(80, 8, 8), torch.randint(0, 10, (80,))
    model = PixelBERT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(6):
        loss = nn.functional.cross_entropy(model(images), labels)
        print(step, round(loss.item(), 4))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
