"""The encoder block and a stack of them (lessons 84 and 115; Vaswani et al. 2017, 3.1)."""

import torch
from torch import Tensor, nn

from reference.attention import MultiHeadAttention
from reference.masks import attention_mask


class EncoderBlock(nn.Module):
    """Self-attention, then a feed-forward network, each with Add & Norm after it (post-norm).

    Args:
        d_model: features of a token, D.
        n_heads: heads; must divide d_model.
        d_ff: hidden features of the feed-forward network.
        dropout: share of each sublayer's output that is dropped in training (paper, 5.4).
        bias: whether the attention's projections have biases; lesson 115 counts without.

    Raises:
        ValueError: n_heads does not divide d_model.
    """

    def __init__(
        self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.0, bias: bool = False
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads, bias=bias)
        self.norm1 = nn.LayerNorm(d_model)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, key_padding_mask: Tensor | None = None) -> Tensor:
        """Map x (B, T, D) to (B, T, D).

        Args:
            x: (B, T, D)
            key_padding_mask: bool (B, T), True = ignore this key. What a padded position itself
                comes out as means nothing.
        """
        mask = None if key_padding_mask is None else attention_mask(key_padding_mask)
        attended, _ = self.attention(x, x, x, mask)  # (B, T, D)
        x = self.norm1(x + self.dropout(attended))
        hidden = torch.relu(self.linear1(x))  # (B, T, d_ff)
        output: Tensor = self.norm2(x + self.dropout(self.linear2(hidden)))
        return output  # (B, T, D)


class TransformerEncoder(nn.Module):
    """n_layers encoder blocks, one after the other, and nothing else (lesson 84).

    Args:
        n_layers: blocks, N; each has weights of its own.
        d_model: features of a token, D.
        n_heads: heads; must divide d_model.
        d_ff: hidden features of the feed-forward networks.
        dropout: as in `EncoderBlock`.
        bias: as in `EncoderBlock`.

    Raises:
        ValueError: n_heads does not divide d_model.
    """

    def __init__(
        self,
        n_layers: int,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            EncoderBlock(d_model, n_heads, d_ff, dropout, bias) for _ in range(n_layers)
        )

    def forward(self, x: Tensor, key_padding_mask: Tensor | None = None) -> Tensor:
        """Map x (B, T, D) to (B, T, D); key_padding_mask bool (B, T), True = ignore this key."""
        for layer in self.layers:
            x = layer(x, key_padding_mask)  # (B, T, D)
        return x
