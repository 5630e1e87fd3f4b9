import torch
from torch import nn

split_heads = lambda x, h: x.reshape(*x.shape[:2], h, -1).permute(0, 2, 1, 3)
merge_heads = lambda x: x.permute(0, 2, 1, 3).flatten(2)


def scaled_dot_product_attention(q, k, v, mask=None):
    d_k = q.size(-1)
    s = torch.matmul(q, k.mT) / d_k
    if mask is not None:
        s = torch.where(mask.bool(), s, torch.full_like(s, -1e9))
    a = s.softmax(-1)
    return a @ v, a


class MultiHeadAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        assert dim % heads == 0
        self.heads = heads
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_k = nn.Linear(dim, dim, bias=False)
        self.to_v = nn.Linear(dim, dim, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, q, k, v, mask=None):
        q, k, v = (split_heads(f(t), self.heads) for f, t in
                   ((self.to_q, q), (self.to_k, k), (self.to_v, v)))
        ctx, a = scaled_dot_product_attention(q, k, v, mask)
        return self.to_out(merge_heads(ctx)), a
