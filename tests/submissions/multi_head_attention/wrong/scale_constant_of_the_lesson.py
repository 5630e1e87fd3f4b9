import torch
import torch.nn as nn

SCALE = 0.35355339  # 1/sqrt(d_k), see the table in the lesson


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.view(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, D = x.shape
    return x.transpose(1, 2).reshape(B, T, H * D)


def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = SCALE * (Q @ K.transpose(-2, -1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


class MultiHeadAttention(nn.Module):

    def __init__(self, embed_dim, num_heads):
        super(MultiHeadAttention, self).__init__()
        assert embed_dim % num_heads == 0
        self.num_heads = num_heads
        self.qkv_weight = nn.Linear(embed_dim, 3 * embed_dim, bias=False)
        self.out = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, query, key, value, mask=None):
        wq, wk, wv = self.qkv_weight.weight.chunk(3, dim=0)
        q = split_heads(query @ wq.T, self.num_heads)
        k = split_heads(key @ wk.T, self.num_heads)
        v = split_heads(value @ wv.T, self.num_heads)
        o, w = scaled_dot_product_attention(q, k, v, mask)
        return self.out(merge_heads(o)), w
