import torch
import torch.nn as nn


def split_heads(x, n_heads, batch_size):
    x = x.view(batch_size, -1, n_heads, x.size(-1) // n_heads)
    return x.permute(0, 2, 1, 3)


def merge_heads(x, batch_size):
    x = x.permute(0, 2, 1, 3).contiguous()
    return x.view(batch_size, -1, x.size(-1) * x.size(-2))


def scaled_dot_product_attention(q, k, v, mask=None):
    logits = torch.matmul(q, k.transpose(-1, -2)) / k.size(-1) ** 0.5
    if mask is not None:
        logits = logits.masked_fill(mask == 0, -1e9)
    attention_weights = torch.softmax(logits, dim=-1)
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
        n = q.size(0)
        q = split_heads(self.wq(q), self.num_heads, n)
        k = split_heads(self.wk(k), self.num_heads, n)
        v = split_heads(self.wv(v), self.num_heads, n)
        out, attention_weights = scaled_dot_product_attention(q, k, v, mask)
        return self.dense(merge_heads(out, n)), attention_weights
