import torch.nn as nn

import heads
from heads import *          # split_heads, merge_heads
from scoring import Scorer

scaled_dot_product_attention = Scorer("scaled_dot")


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        heads.check(d_model, n_heads)
        self.n_heads = n_heads
        self.w = nn.ModuleList(nn.Linear(d_model, d_model, bias=(i == 3)) for i in range(4))

    def forward(self, query, key, value, mask=None):
        q, k, v = [heads.split_heads(self.w[i](x), self.n_heads) for i, x in enumerate((query, key, value))]
        y, a = scaled_dot_product_attention(q, k, v, mask)
        return self.w[3](merge_heads(y)), a
