"""The steps of each recipe on given inputs: attention, a layer over it, encoder and decoder blocks.

Masks: True = may attend.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional as F

from grader.diagnosis.steps import Step
from reference import merge_heads, scaled_dot_product_attention, split_heads
from reference.misconceptions.blocks import BlockWeights, layer_norm


def attention_steps(
    query: Tensor, key: Tensor, value: Tensor, allowed: Tensor | None, of: str = ""
) -> list[Step]:
    """softmax(QKᵀ/√d_k)V, step by step (Vaswani et al. 2017, equation 1).

    Args:
        query: (..., T_q, d_k)
        key: (..., T_k, d_k)
        value: (..., T_k, d_v)
        allowed: broadcastable to (..., T_q, T_k), or None.
        of: what the titles begin with.
    """
    scores = query @ key.transpose(-2, -1)
    scaled = scores / math.sqrt(query.shape[-1])
    output, weights = scaled_dot_product_attention(query, key, value, allowed)
    hidden = None if allowed is None else (allowed == 0).expand_as(scores)
    steps = [Step(f"{of}QKᵀ", scores), Step(f"{of}divided by √d_k", scaled)]
    if hidden is not None:
        steps.append(Step(f"{of}masked before the softmax", scaled, hidden))
    return [
        *steps,
        Step(f"{of}softmax over the keys", weights, hidden),
        Step(f"{of}weights × V", output),
    ]


def layer_steps(
    weights: Mapping[str, Tensor],
    n_heads: int,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    allowed: Tensor | None,
    of: str = "",
) -> list[Step]:
    """Multi-head attention, step by step (Vaswani et al. 2017, 3.2.2).

    Args:
        weights: "q", "k", "v", "o", each (D, D), and "bq", "bk", "bv", "bo", each (D,).
        n_heads: H.
        query: (B, T_q, D)
        key: (B, T_k, D)
        value: (B, T_k, D)
        allowed: broadcastable to (B, H, T_q, T_k), or None.
        of: what the titles begin with.
    """
    inputs = {"q": query, "k": key, "v": value}
    projected = {r: F.linear(x, weights[r], weights[f"b{r}"]) for r, x in inputs.items()}
    q, k, v = (split_heads(x, n_heads) for x in projected.values())
    attention = attention_steps(q, k, v, allowed, of)
    feeds = {"q": 3, "k": 3, "v": len(attention) + 1}  # the split, QKᵀ, and weights × V
    steps = [
        Step(f"{of}{role.upper()} projected", x, feeds=feeds[role]) for role, x in projected.items()
    ]
    steps += [Step(f"{of}split into heads", q, heads=1), *attention]
    merged = merge_heads(steps[-1].value)
    output = F.linear(merged, weights["o"], weights["bo"])
    return [
        *steps,
        Step(f"{of}heads merged", merged, heads=-1),
        Step(f"{of}projected by W_O", output),
    ]


def encoder_steps(
    weights: BlockWeights, n_heads: int, x: Tensor, allowed: Tensor | None
) -> list[Step]:
    """An encoder block, step by step: x (B, T, D); allowed broadcastable to (B, 1, T, T)."""
    attention = layer_steps(weights.attentions[0], n_heads, x, x, x, allowed)
    normed, steps = _add_and_norm(weights, 0, x, attention[-1].value, "attention")
    return [*attention, *steps, *_feed_forward_steps(weights, 1, normed)]


def decoder_steps(
    weights: BlockWeights, n_heads: int, x: Tensor, memory: Tensor, allowed: Tensor | None
) -> list[Step]:
    """A decoder block, step by step.

    Args:
        weights: by role.
        n_heads: H.
        x: (B, T, D)
        memory: (B, S, D)
        allowed: of the memory, broadcastable to (B, 1, T, S), or None.
    """
    causal = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
    own = layer_steps(weights.attentions[0], n_heads, x, x, x, causal, "self-attention: ")
    h, joined = _add_and_norm(weights, 0, x, own[-1].value, "self-attention")
    cross = layer_steps(
        weights.attentions[1], n_heads, h, memory, memory, allowed, "cross-attention: "
    )
    normed, rejoined = _add_and_norm(weights, 1, h, cross[-1].value, "cross-attention")
    return [*own, *joined, *cross, *rejoined, *_feed_forward_steps(weights, 2, normed)]


def _add_and_norm(
    weights: BlockWeights, index: int, x: Tensor, sublayer: Tensor, name: str
) -> tuple[Tensor, list[Step]]:
    """LayerNorm(x + sublayer), and its two steps."""
    added = x + sublayer
    normed = layer_norm(added, weights.gains[index], weights.shifts[index])
    source = "x" if index == 0 else "the norm before"
    return normed, [Step(f"{source} + {name}", added), Step(f"LayerNorm {index + 1}", normed)]


def _feed_forward_steps(weights: BlockWeights, index: int, x: Tensor) -> list[Step]:
    hidden = F.linear(x, weights.w1, weights.c1)
    active = torch.relu(hidden)
    output = F.linear(active, weights.w2, weights.c2)
    _, joined = _add_and_norm(weights, index, x, output, "feed-forward")
    return [
        Step("feed-forward: first linear layer", hidden),
        Step("feed-forward: ReLU", active, active == 0),
        Step("feed-forward: second linear layer", output),
        *joined,
    ]
