import torch
from torch import nn


def split_heads(x, n_heads):
    b, t, d = x.shape
    return x.reshape(b, t, n_heads, d // n_heads).permute(0, 2, 1, 3)


def merge_heads(x):
    b, h, t, k = x.shape
    return x.permute(0, 2, 1, 3).reshape(b, t, h * k)


def scaled_dot_product_attention(query, key, value, mask=None):
    s = query @ key.transpose(-1, -2)
    s = s / key.size(-1) ** 0.5
    if mask is not None:
        s = s.masked_fill(mask == 0, -1e9)
    w = torch.softmax(s, dim=-1)
    return w @ value, w


class MultiHeadAttention(nn.Module):
    """works on (B*H, T, d_k), as the old torch code did"""

    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model % n_heads != 0")
        self.n_heads = n_heads
        self.fc_q = nn.Linear(d_model, d_model, bias=False)
        self.fc_k = nn.Linear(d_model, d_model, bias=False)
        self.fc_v = nn.Linear(d_model, d_model, bias=False)
        self.fc_o = nn.Linear(d_model, d_model, bias=False)

    def fold(self, t):
        return split_heads(t, self.n_heads).flatten(0, 1)

    def forward(self, query, key, value, mask=None):
        b, h = query.shape[0], self.n_heads
        q, k, v = self.fold(self.fc_q(query)), self.fold(self.fc_k(key)), self.fold(self.fc_v(value))
        if mask is not None and mask.dim() == 4:
            mask = mask.squeeze(1)
            if mask.shape[0] == b:
                mask = mask.repeat(h, 1, 1)
        y, w = scaled_dot_product_attention(q, k, v, mask)
        y, w = y.unflatten(0, (b, h)), w.unflatten(0, (b, h))
        return self.fc_o(merge_heads(y)), w
