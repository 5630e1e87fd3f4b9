"""The decoder block (lesson 115; Vaswani et al. 2017, 3.1)."""

import torch
from torch import Tensor, nn

from reference.attention import MultiHeadAttention
from reference.masks import attention_mask, causal_mask


class DecoderBlock(nn.Module):
    """Causal self-attention, cross-attention to the encoder, feed-forward; Add & Norm after each.

    Args:
        d_model: features of a token, D.
        n_heads: heads; must divide d_model.
        d_ff: hidden features of the feed-forward network.
        bias: whether the attentions' projections have biases.

    Raises:
        ValueError: n_heads does not divide d_model.
    """

    def __init__(self, d_model: int, n_heads: int, d_ff: int, bias: bool = False) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads, bias=bias)
        self.norm1 = nn.LayerNorm(d_model)
        self.cross_attention = MultiHeadAttention(d_model, n_heads, bias=bias)
        self.norm2 = nn.LayerNorm(d_model)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm3 = nn.LayerNorm(d_model)

    def forward(
        self, x: Tensor, memory: Tensor, memory_key_padding_mask: Tensor | None = None
    ) -> Tensor:
        """Map x (B, T, D) to (B, T, D).

        Args:
            x: (B, T, D), the decoder's own tokens; token t sees the tokens 0 … t of them.
            memory: (B, S, D), the encoder's output; every token sees all of it.
            memory_key_padding_mask: bool (B, S), True = ignore this key of the memory.
        """
        causal = causal_mask(x.shape[1]).to(x.device)  # (T, T)
        attended, _ = self.self_attention(x, x, x, causal)  # (B, T, D)
        x = self.norm1(x + attended)
        mask = None if memory_key_padding_mask is None else attention_mask(memory_key_padding_mask)
        attended, _ = self.cross_attention(x, memory, memory, mask)  # (B, T, D)
        x = self.norm2(x + attended)
        hidden = torch.relu(self.linear1(x))  # (B, T, d_ff)
        output: Tensor = self.norm3(x + self.linear2(hidden))
        return output  # (B, T, D)
