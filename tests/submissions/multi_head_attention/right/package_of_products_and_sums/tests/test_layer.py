import torch
from attention_hw import MultiHeadAttention


def test_like_torch():
    ours = MultiHeadAttention(8, 2)
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    k, v, q = ours.kvq_weight.data.chunk(3)
    theirs.in_proj_weight.data = torch.cat([q, k, v])
    theirs.out_proj.weight.data = ours.out.weight.data
    x = torch.randn(2, 3, 8)
    assert torch.allclose(ours(x, x, x)[0], theirs(x, x, x)[0], atol=1e-5)
