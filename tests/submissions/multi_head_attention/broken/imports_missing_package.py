import torch
import torch.nn as nn
from my_course_utils_v2 import split_heads, merge_heads, scaled_dot_product_attention


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.proj = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        q, k, v = [split_heads(p(t), self.n_heads) for p, t in zip(self.proj, (query, key, value))]
        out, w = scaled_dot_product_attention(q, k, v, mask)
        return self.proj[3](merge_heads(out)), w
