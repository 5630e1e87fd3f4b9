"""PixelBERT: an encoder reads the patches of a small image (lesson 115; Dosovitskiy 2021, 3.1)."""

import torch
from torch import Tensor, nn

from reference.encoder import EncoderBlock

IMAGE_SIZE = 8  # rows and columns of a digit


def patches(images: Tensor, patch_size: int) -> Tensor:
    """Cut images into square patches, left to right and top to bottom: (B, R, C) -> (B, N, p·p).

    The pixels of a patch stand in the same order.

    Args:
        images: (B, R, C), R rows and C columns.
        patch_size: rows and columns of a patch, p; must divide R and C.

    Returns:
        (B, N, p·p) with N = (R / p) · (C / p).

    Raises:
        ValueError: patch_size does not divide R and C.
    """
    batch, rows, columns = images.shape
    p = patch_size
    if rows % p != 0 or columns % p != 0:
        raise ValueError(f"patch_size={p} does not divide {rows} x {columns} pixels")
    x = images.reshape(batch, rows // p, p, columns // p, p)  # (B, R/p, p, C/p, p)
    x = x.transpose(2, 3)  # (B, R/p, C/p, p, p)
    return x.reshape(batch, -1, p * p)  # (B, N, p·p)


class PixelBERT(nn.Module):
    """Patch projection, [CLS] before the patches, learned positions, one block, a linear head.

    Args:
        n_classes: classes, C.
        patch_size: rows and columns of a patch, p; must divide 8.
        d_model: features of a patch, D.
        n_heads: heads; must divide d_model.
        d_ff: hidden features of the feed-forward network.

    Raises:
        ValueError: patch_size does not divide 8, or n_heads does not divide d_model.
    """

    def __init__(
        self,
        n_classes: int = 10,
        patch_size: int = 2,
        d_model: int = 32,
        n_heads: int = 4,
        d_ff: int = 64,
    ) -> None:
        super().__init__()
        if IMAGE_SIZE % patch_size != 0:
            raise ValueError(f"patch_size={patch_size} does not divide {IMAGE_SIZE}")
        n_patches = (IMAGE_SIZE // patch_size) ** 2  # N
        self.patch_size = patch_size
        self.projection = nn.Linear(patch_size**2, d_model)
        self.cls = nn.Parameter(0.02 * torch.randn(d_model))
        self.positions = nn.Parameter(0.02 * torch.randn(1 + n_patches, d_model))
        self.block = EncoderBlock(d_model, n_heads, d_ff)
        self.head = nn.Linear(d_model, n_classes)
        nn.init.normal_(self.head.weight, std=0.02)  # small logits: the first loss is near ln C
        nn.init.zeros_(self.head.bias)

    def forward(self, images: Tensor) -> Tensor:
        """Map images (B, 8, 8) to logits (B, C)."""
        x = self.projection(patches(images, self.patch_size))  # (B, N, D)
        cls = self.cls.expand(x.shape[0], 1, -1)  # (B, 1, D)
        x = torch.cat([cls, x], dim=1) + self.positions  # (B, 1 + N, D)
        x = self.block(x)  # (B, 1 + N, D)
        logits: Tensor = self.head(x[:, 0, :])  # [CLS] alone
        return logits  # (B, C)
