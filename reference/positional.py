"""The sinusoidal positional encoding (lesson 84; Vaswani et al. 2017, 3.5)."""

import torch
from torch import Tensor


def sinusoidal_positional_encoding(max_len: int, d_model: int) -> Tensor:
    """Return the table PE[pos, 2i] = sin(pos / 10000^(2i/D)), PE[pos, 2i+1] = cos(the same).

    Computed in float64, for in float32 the angle itself is off by 4e-4 at position 5,000.

    Args:
        max_len: positions, 0 to max_len - 1.
        d_model: features of a token, D; even, for sines and cosines come in pairs.

    Returns:
        float32 (max_len, D).

    Raises:
        ValueError: d_model is odd.
    """
    if d_model % 2 != 0:
        raise ValueError(f"d_model={d_model} is odd: each frequency takes a sine and a cosine")
    position = torch.arange(max_len, dtype=torch.float64)  # (max_len,)
    exponent = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model  # (D/2,): 2i/D
    angle = position[:, None] / 10_000**exponent  # (max_len, D/2)
    pairs = torch.stack([angle.sin(), angle.cos()], dim=-1)  # (max_len, D/2, 2)
    return pairs.reshape(max_len, d_model).float()  # (max_len, D): sin, cos, sin, cos, …
