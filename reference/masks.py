"""Masks and their two opposite conventions (lesson 84, padding; lesson 115, causal).

A `mask` of attention says True = may attend; a `key_padding_mask` says True = ignore this key.
"""

import torch
from torch import Tensor


def padding_mask(input_ids: Tensor, pad_id: int) -> Tensor:
    """Mark the padding by its content, wherever it stands: (B, T) -> bool (B, T), True = ignore."""
    return input_ids == pad_id  # (B, T)


def causal_mask(size: int) -> Tensor:
    """Let position t attend to 0 … t: bool (T, T), True = may attend (Vaswani et al. 2017, 3.2.3).

    For a decoder's self-attention only: an encoder reads in both directions.
    """
    return torch.ones(size, size, dtype=torch.bool).tril()  # (T, T), the diagonal included


def attention_mask(key_padding_mask: Tensor) -> Tensor:
    """Turn True = ignore into True = may attend: bool (B, T) -> bool (B, 1, 1, T).

    The two middle axes are broadcast over the heads and the queries.
    """
    return ~key_padding_mask[:, None, None, :]  # (B, 1, 1, T)
