import torch, torch.nn as nn

split_heads = lambda x, n_heads: x.reshape(x.shape[0], x.shape[1], n_heads, x.shape[2] // n_heads).transpose(1, 2)
merge_heads = lambda x: x.transpose(1, 2).flatten(2)

scores_of = lambda q, k: q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
hide = lambda s, m: s if m is None else s.masked_fill(m == 0, -1e9)
weights_of = lambda q, k, m: hide(scores_of(q, k), m).softmax(-1)
scaled_dot_product_attention = lambda query, key, value, mask=None: (
    lambda w: (w @ value, w))(weights_of(query, key, mask))


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads: raise ValueError("d_model / n_heads is not whole")
        make = lambda: nn.Linear(d_model, d_model, bias=False)
        self.a, self.b, self.c, self.d = make(), make(), make(), make()
        self.cut = lambda x: split_heads(x, n_heads)

    def forward(self, query, key, value, mask=None):
        y, w = scaled_dot_product_attention(self.cut(self.a(query)), self.cut(self.b(key)), self.cut(self.c(value)), mask)
        return self.d(merge_heads(y)), w
