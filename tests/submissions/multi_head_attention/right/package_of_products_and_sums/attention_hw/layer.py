import torch
from torch import nn

from . import functional as FN


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise ValueError("bad number of heads")
        self.n_heads = n_heads
        # k | v | q beneath one another, then a separate output
        self.kvq_weight = nn.Parameter(torch.empty(3 * d_model, d_model))
        self.kvq_bias = nn.Parameter(torch.zeros(3 * d_model))
        nn.init.xavier_uniform_(self.kvq_weight)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        wk, wv, wq = self.kvq_weight.tensor_split(3)
        bk, bv, bq = self.kvq_bias.tensor_split(3)
        lin = nn.functional.linear
        q = FN.split_heads(lin(query, wq, bq), self.n_heads)
        k = FN.split_heads(lin(key, wk, bk), self.n_heads)
        v = FN.split_heads(lin(value, wv, bv), self.n_heads)
        y, w = FN.scaled_dot_product_attention(q, k, v, mask)
        return self.out(FN.merge_heads(y)), w
