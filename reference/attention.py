"""Scaled dot-product attention and multi-head attention (lesson 115; Vaswani et al. 2017, 3.2)."""

import math

import torch
from torch import Tensor, nn


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Cut the features of each token into heads: (B, T, D) -> (B, H, T, d_k).

    Head h of token t holds features h·d_k to (h+1)·d_k - 1 of that token.
    """
    batch, length, d_model = x.shape
    x = x.reshape(batch, length, n_heads, d_model // n_heads)  # (B, T, H, d_k)
    return x.transpose(1, 2)  # (B, H, T, d_k)


def merge_heads(x: Tensor) -> Tensor:
    """Undo `split_heads`: (B, H, T, d_k) -> (B, T, D)."""
    batch, n_heads, length, d_k = x.shape
    x = x.transpose(1, 2)  # (B, T, H, d_k)
    return x.reshape(batch, length, n_heads * d_k)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return softmax(QKᵀ/√d_k)V and the weights (Vaswani et al. 2017, equation 1).

    Args:
        query: (..., T_q, d_k)
        key: (..., T_k, d_k)
        value: (..., T_k, d_v)
        mask: True (or 1) = may attend, broadcastable to (..., T_q, T_k); None hides nothing.
            A row that hides every key is undefined.

    Returns:
        The output (..., T_q, d_v) and the weights (..., T_q, T_k), whose rows sum to 1.
    """
    scores = query @ key.transpose(-2, -1)  # (..., T_q, T_k)
    scores = scores / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -math.inf)
    weights = torch.softmax(scores, dim=-1)  # over the keys
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each in its own d_k features (Vaswani et al. 2017, 3.2.2).

    Args:
        d_model: features of a token, D.
        n_heads: heads, H; must divide d_model.
        bias: whether the four projections have biases; lesson 115 counts without.

    Raises:
        ValueError: n_heads does not divide d_model.
    """

    def __init__(self, d_model: int, n_heads: int, bias: bool = False) -> None:
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"n_heads={n_heads} does not divide d_model={d_model}")
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Attend from query to key and value.

        Args:
            query: (B, T_q, D)
            key: (B, T_k, D)
            value: (B, T_k, D)
            mask: True = may attend; (T_q, T_k), (B, 1, 1, T_k) or (B, 1, T_q, T_k).

        Returns:
            The output (B, T_q, D) and the weights (B, H, T_q, T_k).
        """
        q = split_heads(self.w_q(query), self.n_heads)  # (B, H, T_q, d_k)
        k = split_heads(self.w_k(key), self.n_heads)  # (B, H, T_k, d_k)
        v = split_heads(self.w_v(value), self.n_heads)  # (B, H, T_k, d_k)
        heads, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.w_o(merge_heads(heads)), weights  # (B, T_q, D), (B, H, T_q, T_k)
