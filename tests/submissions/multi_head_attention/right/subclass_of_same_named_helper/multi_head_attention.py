import torch
import layers


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


class MultiHeadAttention(layers.MultiHeadAttention):
    """Adds cross-attention, the mask and the weights to last week's layer."""

    def forward(self, query, key, value, mask=None):
        q, k, v = (split_heads(t, self.n_heads) for t in self.project(query, key, value))
        y, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.o_proj(merge_heads(y)), weights
