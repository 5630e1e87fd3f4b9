import torch
import torch.nn as nn
import math


class BertSelfAttention(nn.Module):
    def __init__(self, hidden_size, num_attention_heads):
        super().__init__()
        if hidden_size % num_attention_heads != 0:
            raise ValueError(
                f"The hidden size ({hidden_size}) is not a multiple of the number of heads ({num_attention_heads})")
        self.num_attention_heads = num_attention_heads
        self.query = nn.Linear(hidden_size, hidden_size)
        self.key = nn.Linear(hidden_size, hidden_size)
        self.value = nn.Linear(hidden_size, hidden_size)
        self.dense = nn.Linear(hidden_size, hidden_size)

    def forward(self, query, key, value, attention_mask=None):
        q = split_heads(self.query(query), self.num_attention_heads)
        k = split_heads(self.key(key), self.num_attention_heads)
        v = split_heads(self.value(value), self.num_attention_heads)
        context, probs = scaled_dot_product_attention(q, k, v, attention_mask)
        return self.dense(merge_heads(context)), probs


def split_heads(x, n_heads):
    return x.view(*x.size()[:-1], n_heads, x.size(-1) // n_heads).permute(0, 2, 1, 3)


def merge_heads(x):
    x = x.permute(0, 2, 1, 3).contiguous()
    return x.view(*x.size()[:-2], x.size(-2) * x.size(-1))


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(query.size(-1))
    if mask is not None:
        extended = mask[:, None, None, :].to(scores.dtype)
        scores = scores + (1.0 - extended) * -10000.0
    probs = scores.softmax(dim=-1)
    return torch.matmul(probs, value), probs


MultiHeadAttention = BertSelfAttention
