"""Homework for lesson 115: multi-head attention."""

import math

import torch
from torch import nn


def split_heads(x, n_heads):
    """(B, T, D) -> (B, H, T, d_k)"""
    batch, length, d_model = x.shape
    return x.reshape(batch, length, n_heads, d_model // n_heads).transpose(1, 2)


def merge_heads(x):
    """(B, H, T, d_k) -> (B, T, D)"""
    batch, n_heads, length, d_k = x.shape
    return x.transpose(1, 2).reshape(batch, length, n_heads * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    """softmax(Q Kᵀ / sqrt(d_k)) V. In the mask, True (or 1) means "may attend"."""
    d_k = query.size(-1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"n_heads={n_heads} does not divide d_model={d_model}")
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.w_q(query), self.n_heads)  # (B, H, T_q, d_k)
        k = split_heads(self.w_k(key), self.n_heads)  # (B, H, T_k, d_k)
        v = split_heads(self.w_v(value), self.n_heads)  # (B, H, T_k, d_k)
        heads, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.w_o(merge_heads(heads)), weights


# Answers to the questions of the lesson
ANSWERS = {
    "scale-for-d-k-64": 0.125,
    "why-scores-are-scaled": "B",
    "too-sharp-or-too-flat": {
        "scores": "too sharp",
        "scores / d_k": "too flat",
        "scores / sqrt(d_k)": "well scaled",
        "scores * sqrt(d_k)": "too sharp",
        "scores / d_k**2": "too flat",
    },
    "scale-as-heads-grow": {"heads": 8, "d_k": 8, "scale": 0.3536},
    "shapes-of-attention": [(3, 5), (3, 5), (3, 5), (3, 6)],
    "trace-weights-of-row-0": [0.194, 0.410, 0.324, 0.071],
    "weight-of-the-better-key": 0.881,
    "axis-that-sums-to-one": "D",
    "split-with-a-view-only": "A",
    "shapes-through-the-layer": [
        (2, 10, 48),
        (2, 10, 6, 8),
        (2, 6, 10, 8),
        (2, 6, 8, 10),
        (2, 6, 10, 10),
        (2, 6, 10, 8),
        (2, 10, 48),
    ],
    "weights-shape-self-attention": (1, 4, 6, 6),
    "weights-shape-cross-attention": (2, 8, 5, 9),
    "parameters-of-the-four-projections": 9216,
    "sizes-that-divide": {
        "32/4": "valid",
        "30/4": "error",
        "64/8": "valid",
        "48/5": "error",
        "12/12": "valid",
        "4/8": "error",
    },
    "role-of-the-output-projection": "C",
    "padding-mask-for-attention": "B",
    "causal-weights-of-equal-scores": {"query": 3, "visible_keys": 4, "weight_each": 0.25},
    "weight-when-one-key-is-masked": 0.625,
    "masked-scores-set-to-zero": "D",
    "plan-before-the-code": (
        "First I make the four projections and check that 30 features with 4 heads raise an "
        "error. Then I write the splitting: view to (B, T, H, d_k), then swap T and H. I check it "
        "with arange, since a wrong split has the right shape too, and check that merging undoes "
        "it. Next come the scores QKᵀ, with T_q rows and T_k columns, divided by √d_k. The mask "
        "goes on the scores before the softmax; I check that hidden weights are 0 and that every "
        "row still sums to 1. Then times V, merge the heads, output projection: the shape must be "
        "that of the query. At the end I compare with PyTorch's function and try keys of another "
        "length."
    ),
    "many-narrow-heads-or-one-wide": (
        "Each head has a softmax of its own, so with several heads a position can look at several "
        "places at once for different reasons, where one head has to mix all of them into one "
        "average. In return each head compares in only d_model / h dimensions, so its queries and "
        "keys can say less. The parameters (4 · d_model²) and the cost of the products stay about "
        "the same, only the number of weights to store grows with h. With h = 1 there is a single "
        "pattern of full width. With h = d_model every head has one number to compare, so a score "
        "is just a product of two numbers, which is too poor to match anything complicated."
    ),
    "smallest-and-most-equal-input": (
        "(a) With one token there is one score, its softmax is 1 whatever the score is, and the "
        "output is that token's value. (b) When all tokens are equal, all scores in a row are "
        "equal, every weight is 1/T, and the mean of equal values is the value itself. (c) It has "
        "no meaning for a query whose keys are all masked: every score is -inf, and the softmax "
        "is 0/0, NaN. The same holds for zero keys. With a large finite fill like -1e9 in place "
        "of -inf the row gets 1/T for each hidden key, which looks fine but is just as "
        "meaningless."
    ),
    "attention-without-the-scale": (
        "Yes, it can be trained. The factor is only a constant, and the projections can learn it: "
        "W_Q that is smaller by √d_k gives the same scores. So a smaller initialisation of W_Q "
        "and W_K, or normalising queries and keys, can take its place. What one loses is a start "
        "that is right for every d_k: with the usual initialisation and large d_k the softmax is "
        "nearly one-hot in the beginning, gradients are tiny and training is slow or gets stuck. "
        "For small d_k, say 4, one would hardly notice."
    ),
}


if __name__ == "__main__":
    layer = MultiHeadAttention(d_model=32, n_heads=4)
    x = torch.randn(1, 6, 32)
    output, weights = layer(x, x, x)
    print("output", tuple(output.shape), "weights", tuple(weights.shape))
    print("rows sum to one:", torch.allclose(weights.sum(-1), torch.ones(1, 4, 6)))
