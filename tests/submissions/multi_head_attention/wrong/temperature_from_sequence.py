import torch
from torch import nn


def split_heads(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


def merge_heads(x):
    return torch.cat(x.unbind(dim=1), dim=-1)


def scaled_dot_product_attention(query, key, value, mask=None):
    *_, n, width = key.shape
    temperature = float(n) ** 0.5
    energy = torch.einsum("...qd,...kd->...qk", query, key) / temperature
    if mask is not None:
        energy = torch.where(mask != 0, energy, torch.full_like(energy, -1e9))
    p = (energy - energy.amax(-1, keepdim=True)).exp()
    p = p / p.sum(-1, keepdim=True)
    return torch.einsum("...qk,...kv->...qv", p, value), p


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("heads must divide the model width")
        self.n_heads = n_heads
        self.proj = nn.ModuleDict({k: nn.Linear(d_model, d_model, bias=False) for k in ("q", "k", "v", "o")})

    def forward(self, query, key, value, mask=None):
        heads = [split_heads(self.proj[n](t), self.n_heads) for n, t in zip("qkv", (query, key, value))]
        ctx, p = scaled_dot_product_attention(*heads, mask=mask)
        return self.proj["o"](merge_heads(ctx)), p


if __name__ == "__main__":
    torch.manual_seed(42)
    demo = torch.randn(1, 6, 32)
    y, a = MultiHeadAttention(32, 4)(demo, demo, demo)
    print(y.shape, a.shape)
