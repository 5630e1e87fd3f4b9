from .layer import MultiHeadAttention
from .functional import merge_heads, scaled_dot_product_attention, split_heads

__all__ = ["MultiHeadAttention", "merge_heads", "scaled_dot_product_attention", "split_heads"]
