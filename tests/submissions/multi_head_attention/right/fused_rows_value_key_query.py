import torch
import torch.nn as nn
import torch.nn.functional as F

# fused matrix, order of the row blocks: V, K, Q (I wrote the slides' formula backwards)


def split_heads(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


def merge_heads(x):
    return torch.cat(x.unbind(dim=1), dim=-1)


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.shape[-1]
    logits = torch.matmul(query * d_k ** -0.5, key.mT)
    if mask is not None:
        blocked = ~mask.bool()
        logits = logits.masked_fill(blocked, torch.finfo(logits.dtype).min)
    attn = logits.softmax(dim=-1)
    return torch.matmul(attn, value), attn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0, "d_model must be divisible by n_heads"
        self.h = n_heads
        self.w_vkq = nn.Linear(d_model, 3 * d_model)      # with bias
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        wv, wk, wq = self.w_vkq.weight.chunk(3)
        bv, bk, bq = self.w_vkq.bias.chunk(3)
        q = split_heads(F.linear(query, wq, bq), self.h)
        k = split_heads(F.linear(key, wk, bk), self.h)
        v = split_heads(F.linear(value, wv, bv), self.h)
        context, attn = scaled_dot_product_attention(q, k, v, mask)
        return self.w_o(merge_heads(context)), attn
