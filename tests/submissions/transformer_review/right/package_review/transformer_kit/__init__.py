"""The definitions live in core.py; MultiHeadAttention inherits from a generic class in base.py."""
from .core import (DecoderBlock, EncoderBlock, MultiHeadAttention, PixelBERT, causal_mask, mean_aggregate,
                   scaled_dot_product_attention, sinusoidal_positional_encoding)
