import torch
import torch.nn as nn


def split_heads(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


def merge_heads(x):
    return torch.cat(x.unbind(1), dim=-1)


def scaled_dot_product_attention(query, key, value, mask=None, need_weights=False):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask.to(torch.bool), torch.finfo(scores.dtype).min)
    weights = scores.softmax(-1)
    return weights @ value, (weights if need_weights else None)


class MultiHeadAttention(nn.Module):
    """Like PyTorch's with need_weights=False: the second item is None."""

    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("embed_dim must be divisible by num_heads")
        self.num_heads = num_heads
        self.in_proj_weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(3, embed_dim, embed_dim)))
        self.out_proj_weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(embed_dim, embed_dim)))

    def forward(self, query, key, value, mask=None, need_weights=False):
        q, k, v = (split_heads(x @ w, self.num_heads) for x, w in zip((query, key, value), self.in_proj_weight))
        out, weights = scaled_dot_product_attention(q, k, v, mask, need_weights)
        return merge_heads(out) @ self.out_proj_weight, weights
