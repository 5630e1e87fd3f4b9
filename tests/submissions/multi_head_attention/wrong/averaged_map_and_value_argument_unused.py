import torch
from torch import nn


def split_heads(x, n_heads):
    return x.reshape(x.size(0), x.size(1), n_heads, -1).transpose(1, 2)


def merge_heads(x):
    return x.transpose(1, 2).flatten(start_dim=2)


def scaled_dot_product_attention(query, key, value, mask=None):
    s = torch.matmul(query, key.swapdims(-1, -2)) * (key.size(-1) ** -0.5)
    if mask is not None:
        s[~mask.bool().expand_as(s)] = -1e9
    w = s.softmax(-1)
    return torch.matmul(w, value), w


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.proj_query = nn.Linear(d_model, d_model, bias=False)
        self.proj_memory = nn.ModuleList([nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)])
        self.proj_out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.proj_query(query), self.n_heads)
        k, v = (split_heads(p(key), self.n_heads) for p in self.proj_memory)
        y, w = scaled_dot_product_attention(q, k, v, mask)
        return self.proj_out(merge_heads(y)), w.mean(dim=1, keepdim=True).expand_as(w)


if __name__ == "__main__":
    torch.manual_seed(42)
    demo = torch.randn(1, 6, 32)
    y, a = MultiHeadAttention(32, 4)(demo, demo, demo)
    print(y.shape, a.shape)
