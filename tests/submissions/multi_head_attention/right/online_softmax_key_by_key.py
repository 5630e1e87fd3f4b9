"""Running maximum and running sum over the keys, as the fused kernels do it."""
import torch
import torch.nn as nn

LOW = -1e6


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    scale = query.shape[-1] ** -0.5
    T_k = key.shape[-2]
    top, total, acc, columns = None, None, None, []
    for j in range(T_k):
        s = (query * key[..., j:j + 1, :]).sum(-1, keepdim=True) * scale        # (..., T_q, 1)
        if mask is not None:
            column = mask[..., j:j + 1]
            s = torch.where(column.bool(), s, LOW)
        columns.append(s)
        v = value[..., j:j + 1, :]
        if j == 0:
            top = s.detach()                     # any constant does, the shift cancels
            total = (s - top).exp()
            acc = total * v
            continue
        new_top = torch.maximum(top, s)
        old, new = (top - new_top).exp(), (s - new_top).exp()
        total = total * old + new
        acc = acc * old + new * v
        top = new_top
    weights = (torch.cat(columns, dim=-1) - top).exp() / total
    return acc / total, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0, "n_heads must divide d_model"
        self.n_heads = n_heads
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, d_model, bias=False)
        self.W_value = nn.Linear(d_model, d_model, bias=False)
        self.W_output = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.W_query(query), self.n_heads)
        k = split_heads(self.W_key(key), self.n_heads)
        v = split_heads(self.W_value(value), self.n_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.W_output(merge_heads(out)), weights
