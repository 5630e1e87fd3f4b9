import torch
import torch.nn as nn


def split_heads(x, n_heads):
    b, t, d = x.shape
    return x.reshape(b, t, n_heads, d // n_heads).permute(0, 2, 1, 3)


def merge_heads(x):
    b, h, t, d = x.shape
    return x.permute(0, 2, 1, 3).reshape(b, t, h * d)


def scaled_dot_product_attention(q, k, v, mask=None):
    matmul_qk = torch.matmul(q, k.transpose(-1, -2))
    scaled_logits = matmul_qk / k.shape[-1] ** 0.5
    if mask is not None:
        scaled_logits = scaled_logits + (1 - mask) * -1e9
    attention_weights = torch.softmax(scaled_logits, dim=-1)
    return torch.matmul(attention_weights, v), attention_weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.wq = nn.Linear(d_model, d_model)
        self.wk = nn.Linear(d_model, d_model)
        self.wv = nn.Linear(d_model, d_model)
        self.dense = nn.Linear(d_model, d_model)

    def forward(self, q, k, v, mask=None):
        q, k, v = self.wq(q), self.wk(k), self.wv(v)
        q, k, v = (split_heads(t, self.num_heads) for t in (q, k, v))
        attention, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.dense(merge_heads(attention)), weights
