"""The right implementations, in plain PyTorch, short enough to teach from.

Nothing here knows of the grader. Shapes stand in comments at the line's end:
B batch, T sequence length, D = d_model, H = n_heads, d_k = D / H.
"""

from reference.attention import (
    MultiHeadAttention,
    merge_heads,
    scaled_dot_product_attention,
    split_heads,
)
from reference.classifier import TransformerEncoderClassifier
from reference.decoder import DecoderBlock
from reference.digits import load_digits
from reference.encoder import EncoderBlock, TransformerEncoder
from reference.graph import mean_aggregate
from reference.masks import causal_mask, padding_mask
from reference.pixelbert import PixelBERT, patches
from reference.positional import sinusoidal_positional_encoding
from reference.training import parameter_groups, train, warmup_cosine

__all__ = [
    "DecoderBlock",
    "EncoderBlock",
    "MultiHeadAttention",
    "PixelBERT",
    "TransformerEncoder",
    "TransformerEncoderClassifier",
    "causal_mask",
    "load_digits",
    "mean_aggregate",
    "merge_heads",
    "padding_mask",
    "parameter_groups",
    "patches",
    "scaled_dot_product_attention",
    "sinusoidal_positional_encoding",
    "split_heads",
    "train",
    "warmup_cosine",
]
