"""Main file: imports the helpers that lie beside it."""
import torch
from torch import nn
from projections import PerHead
from tensor_ops import allow, merge_heads, split_heads


def scaled_dot_product_attention(Q, K, V, M=None):
    A = torch.softmax(Q @ K.transpose(-2, -1) / Q.shape[-1] ** 0.5 + allow(M, Q), dim=-1)
    return A @ V, A


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model % n_heads != 0")
        self.to_value, self.to_key, self.to_query = (PerHead(d_model, n_heads) for _ in range(3))
        self.w_out = nn.Linear(d_model, d_model)

    def forward(self, Q, K, V, M=None):
        out, A = scaled_dot_product_attention(self.to_query(Q), self.to_key(K), self.to_value(V), M)
        return self.w_out(merge_heads(out)), A
