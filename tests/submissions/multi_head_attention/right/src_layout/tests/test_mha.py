import torch
from torch import nn

from mha import MultiHeadAttention


def test_against_pytorch():
    mine, ref = MultiHeadAttention(16, 4), nn.MultiheadAttention(16, 4, batch_first=True)
    with torch.no_grad():
        ref.in_proj_weight.copy_(torch.cat([mine.proj[n].weight for n in ("query", "key_", "value")]))
        ref.in_proj_bias.copy_(torch.cat([mine.proj[n].bias for n in ("query", "key_", "value")]))
        ref.out_proj.weight.copy_(mine.proj["out"].weight)
        ref.out_proj.bias.copy_(mine.proj["out"].bias)
    x = torch.randn(2, 5, 16)
    torch.testing.assert_close(mine(x, x, x)[0], ref(x, x, x)[0])
