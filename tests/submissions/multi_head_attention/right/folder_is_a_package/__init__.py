from .multi_head_attention import (MultiHeadAttention, merge_heads, scaled_dot_product_attention,
                                   split_heads)
