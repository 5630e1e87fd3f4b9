from .layer import MultiHeadAttention
from .core import *
__all__ = ['MultiHeadAttention', 'split_heads', 'merge_heads', 'scaled_dot_product_attention']
