"""The reference against PyTorch's own attention, and against lesson 115."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from reference import (
    MultiHeadAttention,
    merge_heads,
    scaled_dot_product_attention,
    split_heads,
)

sizes = st.integers(1, 5)


@settings(deadline=None, max_examples=60)
@given(
    leading=st.lists(st.integers(1, 3), max_size=2),
    t_q=sizes, t_k=sizes, d_k=sizes, d_v=sizes, masked=st.booleans(), seed=st.integers(0, 2**31),
)  # fmt: skip
def test_attention_equals_pytorch(leading, t_q, t_k, d_k, d_v, masked, seed):
    random = torch.Generator().manual_seed(seed)
    query = torch.randn(*leading, t_q, d_k, generator=random)
    key = torch.randn(*leading, t_k, d_k, generator=random)
    value = torch.randn(*leading, t_k, d_v, generator=random)
    mask = None
    if masked:
        mask = torch.rand(t_q, t_k, generator=random) < 0.5
        mask[:, 0] = True
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    torch.testing.assert_close(output, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(*leading, t_q))


@settings(deadline=None, max_examples=40)
@given(
    batch=st.integers(1, 3), t_q=sizes, t_k=sizes, n_heads=st.integers(1, 4), d_k=st.integers(1, 4),
    bias=st.booleans(), padded=st.booleans(), seed=st.integers(0, 2**31),
)  # fmt: skip
def test_layer_equals_pytorch_with_the_same_weights(
    batch, t_q, t_k, n_heads, d_k, bias, padded, seed
):
    torch.manual_seed(seed)
    d_model = n_heads * d_k
    ours = MultiHeadAttention(d_model, n_heads, bias=bias)
    theirs = nn.MultiheadAttention(d_model, n_heads, bias=bias, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.w_q.weight, ours.w_k.weight, ours.w_v.weight]))
        theirs.out_proj.weight.copy_(ours.w_o.weight)
        if bias:
            theirs.in_proj_bias.copy_(torch.cat([ours.w_q.bias, ours.w_k.bias, ours.w_v.bias]))
            theirs.out_proj.bias.copy_(ours.w_o.bias)
    query, key = torch.randn(batch, t_q, d_model), torch.randn(batch, t_k, d_model)
    value = torch.randn(batch, t_k, d_model)
    ignore = torch.zeros(batch, t_k, dtype=torch.bool)
    if padded:
        ignore[:, 1:] = torch.rand(batch, t_k - 1) < 0.5
    output, weights = ours(query, key, value, ~ignore.view(batch, 1, 1, t_k))
    expected, expected_weights = theirs(
        query, key, value, key_padding_mask=ignore, average_attn_weights=False
    )
    torch.testing.assert_close(output, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(weights, expected_weights, rtol=1e-4, atol=1e-5)


def test_lesson_trace_with_seed_42():
    torch.manual_seed(42)
    query, key, value = torch.randn(4, 8), torch.randn(4, 8), torch.randn(4, 8)
    scores = query @ key.T
    output, weights = scaled_dot_product_attention(query, key, value)
    figures = {
        "row 0 of QKᵀ": (scores[0], [-5.8108, -3.6962, -4.3623, -8.6428]),
        "row 0 of the softmax": (weights[0], [0.1942, 0.4102, 0.3242, 0.0714]),
        "row 0 of the output": (
            output[0],
            [0.2667, 0.2371, -0.0554, 0.1298, 0.3541, -0.1906, -0.6448, -0.0085],
        ),
    }
    for name, (got, expected) in figures.items():
        torch.testing.assert_close(got, torch.tensor(expected), rtol=0, atol=6e-5, msg=name)


@pytest.mark.parametrize(("d_k", "scale"), [(64, 0.125), (8, 0.3536)])
def test_lesson_scale_factor(d_k, scale):
    assert 1 / math.sqrt(d_k) == pytest.approx(scale, abs=5e-5)
    one_hot = torch.zeros(1, d_k)
    one_hot[0, 0] = 1.0
    keys = torch.cat([one_hot, torch.zeros(1, d_k)])
    _, weights = scaled_dot_product_attention(one_hot, keys, keys)
    assert float(torch.log(weights[0, 0] / weights[0, 1])) == pytest.approx(scale, abs=5e-5)


def test_lesson_shapes_and_parameter_count():
    layer = MultiHeadAttention(32, 4)
    x = torch.randn(1, 6, 32)
    output, weights = layer(x, x, x)
    assert output.shape == (1, 6, 32)
    assert weights.shape == (1, 4, 6, 6)
    assert sum(p.numel() for p in layer.parameters()) == 4 * 32**2
    assert sum(p.numel() for p in MultiHeadAttention(32, 4, bias=True).parameters()) == 4 * 32 * 33
    feed_forward = 32 * 64 + 64 + 64 * 32 + 32
    assert 4 * 32**2 + feed_forward + 2 * 64 == 8_416


@pytest.mark.parametrize(("n", "entries"), [(1024, 1_048_576), (2048, 4_194_304)])
def test_lesson_score_entries(n, entries):
    query = torch.zeros(n, 1)
    _, weights = scaled_dot_product_attention(query, query, query)
    assert weights.numel() == entries


def test_heads_must_divide_d_model():
    with pytest.raises(ValueError, match="does not divide"):
        MultiHeadAttention(10, 4)


@given(batch=sizes, length=sizes, n_heads=sizes, d_k=sizes)
@settings(deadline=None)
def test_merge_undoes_split(batch, length, n_heads, d_k):
    x = torch.randn(batch, length, n_heads * d_k)
    heads = split_heads(x, n_heads)
    assert heads.shape == (batch, n_heads, length, d_k)
    assert torch.equal(heads[:, -1], x[..., -d_k:])
    assert torch.equal(merge_heads(heads), x)
