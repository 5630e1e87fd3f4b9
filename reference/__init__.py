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

__all__ = ["MultiHeadAttention", "merge_heads", "scaled_dot_product_attention", "split_heads"]
