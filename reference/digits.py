"""Eighty handwritten digits to train on (data/README.md: origin and licence)."""

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

FILE = Path(__file__).parent / "data" / "digits.safetensors"


def load_digits() -> tuple[Tensor, Tensor]:
    """Return 80 images, float32 (80, 8, 8) in 0..1, and their labels, int64 (80,), 0 to 9.

    Each class has eight. The file holds the pixels as whole numbers from 0 to 16.
    """
    tensors = load_file(FILE)
    images = tensors["images"].float() / 16  # (80, 8, 8)
    return images, tensors["labels"].to(torch.int64)  # (80,)
