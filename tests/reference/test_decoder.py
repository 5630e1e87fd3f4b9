"""The decoder block against PyTorch's own, with the same weights."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import DecoderBlock, causal_mask
from tests.reference.copying import pytorch_decoder_layer, random_padding, randomise

sizes = st.integers(1, 4)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(
    batch=sizes, length=st.integers(1, 6), memory_length=st.integers(1, 6), n_heads=sizes,
    d_k=sizes, d_ff=st.integers(1, 9), bias=st.booleans(), padded=st.booleans(),
    seed=st.integers(0, 2**31),
)  # fmt: skip
def test_block_equals_pytorch_with_the_same_weights(
    batch, length, memory_length, n_heads, d_k, d_ff, bias, padded, seed
):
    torch.manual_seed(seed)
    ours = DecoderBlock(n_heads * d_k, n_heads, d_ff, bias=bias).eval()
    randomise(ours)
    theirs = pytorch_decoder_layer(ours)
    x = torch.randn(batch, length, n_heads * d_k)
    memory = torch.randn(batch, memory_length, n_heads * d_k)
    ignore = random_padding(batch, memory_length) if padded else None
    output = ours(x, memory, ignore)
    assert output.shape == x.shape
    expected = theirs(
        x, memory, tgt_mask=~causal_mask(length), memory_key_padding_mask=ignore
    )  # PyTorch's bool mask: True = may not attend
    torch.testing.assert_close(output, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("position", range(5))
def test_a_token_changes_itself_and_the_later_ones_only(position):
    torch.manual_seed(0)
    block = DecoderBlock(8, 2, 16)
    x, memory = torch.randn(2, 5, 8), torch.randn(2, 3, 8)
    changed = x.clone()
    changed[:, position] += torch.randn(8)
    moved = (block(x, memory) - block(changed, memory)).abs().amax(dim=(0, 2)) > 1e-6
    assert moved.tolist() == [t >= position for t in range(5)]


def test_every_token_sees_the_whole_memory():
    torch.manual_seed(0)
    block = DecoderBlock(8, 2, 16)
    x, memory = torch.randn(1, 4, 8), torch.randn(1, 4, 8)
    changed = memory.clone()
    changed[:, -1] += torch.randn(8)
    moved = (block(x, memory) - block(x, changed)).abs().amax(dim=(0, 2)) > 1e-6
    assert moved.tolist() == [True] * 4


def test_heads_must_divide_d_model():
    with pytest.raises(ValueError, match="does not divide"):
        DecoderBlock(10, 4, 8)
