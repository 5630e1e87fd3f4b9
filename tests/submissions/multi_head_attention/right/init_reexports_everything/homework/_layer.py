from torch import nn

from ._attention import attention
from ._heads import Merge, Split


class Layer(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model is not a multiple of n_heads")
        self.n_heads = n_heads
        self.first = nn.ModuleList(nn.Linear(d_model, d_model, bias=False) for _ in range(3))
        self.second = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q, k, v = (Split.apply(f(x), self.n_heads) for f, x in zip(self.first, (query, key, value)))
        y, w = attention(q, k, v, mask)
        return self.second(Merge.apply(y)), w
