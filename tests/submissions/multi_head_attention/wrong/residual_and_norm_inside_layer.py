import torch
import torch.nn as nn
import torch.nn.functional as F


def split_heads(x, n_heads):
    sz_b, len_x, d = x.size()
    return x.view(sz_b, len_x, n_heads, d // n_heads).transpose(1, 2)


def merge_heads(x):
    sz_b, n_head, len_x, d = x.size()
    return x.transpose(1, 2).contiguous().view(sz_b, len_x, n_head * d)


def scaled_dot_product_attention(q, k, v, mask=None):
    attn = torch.matmul(q / q.size(-1) ** 0.5, k.transpose(-2, -1))
    if mask is not None:
        attn = attn.masked_fill(mask == 0, -1e9)
    attn = F.softmax(attn, dim=-1)
    return torch.matmul(attn, v), attn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_head, dropout=0.1):
        super().__init__()
        if d_model % n_head:
            raise ValueError("n_head must divide d_model")
        self.n_head = n_head
        self.w_qs = nn.Linear(d_model, d_model, bias=False)
        self.w_ks = nn.Linear(d_model, d_model, bias=False)
        self.w_vs = nn.Linear(d_model, d_model, bias=False)
        self.fc = nn.Linear(d_model, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.layer_norm = nn.LayerNorm(d_model, eps=1e-6)

    def forward(self, q, k, v, mask=None):
        residual = q
        q = split_heads(self.w_qs(q), self.n_head)
        k = split_heads(self.w_ks(k), self.n_head)
        v = split_heads(self.w_vs(v), self.n_head)
        q, attn = scaled_dot_product_attention(q, k, v, mask)
        q = self.dropout(self.fc(merge_heads(q)))
        return self.layer_norm(q + residual), attn
