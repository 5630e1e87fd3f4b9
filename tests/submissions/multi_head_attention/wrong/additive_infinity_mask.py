import torch
import torch.nn as nn
import torch.nn.functional as F

INF = float("inf")


class Heads:
    """static helpers"""

    @staticmethod
    def split(x, n):
        return x.unflatten(2, (n, x.size(2) // n)).movedim(2, 1)

    @staticmethod
    def merge(x):
        return x.movedim(1, 2).flatten(2)


split_heads, merge_heads = Heads.split, Heads.merge


def scaled_dot_product_attention(query, key, value, mask=None):
    d = query.size(-1)
    bias = 0.0
    if mask is not None:
        bias = (1.0 - mask.float()) * -INF
    att = F.softmax(query.matmul(key.transpose(-1, -2)) / d ** 0.5 + bias, dim=-1)
    return att.matmul(value), att


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(n_heads)
        self.n = n_heads
        # 1x1 convolutions as projections
        self.cq, self.ck, self.cv, self.co = (nn.Conv1d(d_model, d_model, 1, bias=False) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        f = lambda c, t: split_heads(c(t.mT).mT, self.n)
        y, att = scaled_dot_product_attention(f(self.cq, query), f(self.ck, key), f(self.cv, value), mask)
        return self.co(merge_heads(y).mT).mT, att


if __name__ == "__main__":
    torch.manual_seed(42)
    demo = torch.randn(1, 6, 32)
    y, a = MultiHeadAttention(32, 4)(demo, demo, demo)
    print(y.shape, a.shape)
