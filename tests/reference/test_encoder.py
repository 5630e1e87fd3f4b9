"""The encoder block and the stack against PyTorch's own, with the same weights."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from reference import EncoderBlock, TransformerEncoder, sinusoidal_positional_encoding
from tests.reference.copying import (
    count,
    pytorch_encoder,
    pytorch_encoder_layer,
    random_padding,
    randomise,
)

sizes = st.integers(1, 4)
few = settings(deadline=None, derandomize=True, max_examples=30)


@few
@given(
    batch=sizes, length=st.integers(1, 7), n_heads=sizes, d_k=sizes, d_ff=st.integers(1, 9),
    bias=st.booleans(), padded=st.booleans(), seed=st.integers(0, 2**31),
)  # fmt: skip
def test_block_equals_pytorch_with_the_same_weights(
    batch, length, n_heads, d_k, d_ff, bias, padded, seed
):
    torch.manual_seed(seed)
    ours = EncoderBlock(n_heads * d_k, n_heads, d_ff, bias=bias).eval()
    randomise(ours)
    theirs = pytorch_encoder_layer(ours)
    x = torch.randn(batch, length, n_heads * d_k)
    ignore = random_padding(batch, length) if padded else None
    kept = torch.ones(batch, length, dtype=torch.bool) if ignore is None else ~ignore
    output = ours(x, ignore)
    assert output.shape == x.shape
    expected = theirs(x, src_key_padding_mask=ignore)
    torch.testing.assert_close(output[kept], expected[kept], rtol=1e-4, atol=1e-5)


@few
@given(
    batch=sizes, length=st.integers(1, 6), n_layers=st.integers(1, 3), bias=st.booleans(),
    padded=st.booleans(), seed=st.integers(0, 2**31),
)  # fmt: skip
def test_stack_equals_pytorch_with_the_same_weights(batch, length, n_layers, bias, padded, seed):
    torch.manual_seed(seed)
    ours = TransformerEncoder(n_layers, 8, 2, 12, bias=bias).eval()
    randomise(ours)
    theirs = pytorch_encoder(ours.layers)
    x = torch.randn(batch, length, 8)
    ignore = random_padding(batch, length) if padded else None
    kept = torch.ones(batch, length, dtype=torch.bool) if ignore is None else ~ignore
    output = ours(x, ignore)
    expected = theirs(x, src_key_padding_mask=ignore)
    torch.testing.assert_close(output[kept], expected[kept], rtol=1e-3, atol=1e-4)


def test_what_stands_in_padding_changes_no_other_token():
    torch.manual_seed(0)
    encoder = TransformerEncoder(2, 8, 2, 16)
    x = torch.randn(2, 5, 8)
    ignore = torch.tensor([[False] * 5, [False, False, True, False, True]])
    other = torch.where(ignore[..., None], torch.randn(2, 5, 8), x)
    assert torch.equal(encoder(x, ignore)[~ignore], encoder(other, ignore)[~ignore])
    assert not torch.allclose(encoder(x)[~ignore], encoder(other)[~ignore])


def test_tokens_in_another_order_come_out_in_that_order():
    torch.manual_seed(0)
    encoder = TransformerEncoder(2, 8, 2, 16)
    x, order = torch.randn(2, 6, 8), torch.tensor([3, 0, 5, 1, 4, 2])
    torch.testing.assert_close(encoder(x[:, order]), encoder(x)[:, order])


def test_with_a_positional_encoding_the_order_matters():
    torch.manual_seed(0)
    encoder = TransformerEncoder(2, 8, 2, 16)
    x, order = torch.randn(2, 6, 8), torch.tensor([3, 0, 5, 1, 4, 2])
    positions = sinusoidal_positional_encoding(6, 8)
    there, here = encoder(x[:, order] + positions), encoder(x + positions)[:, order]
    assert (there - here).abs().max() > 0.1


def test_each_layer_has_weights_of_its_own():
    encoder = TransformerEncoder(3, 8, 2, 16)
    assert count(encoder) == 3 * count(EncoderBlock(8, 2, 16))
    assert not torch.equal(encoder.layers[0].linear1.weight, encoder.layers[1].linear1.weight)


def test_dropout_takes_both_sublayers_in_training_and_neither_in_evaluation():
    torch.manual_seed(0)
    block = EncoderBlock(8, 2, 16, dropout=1.0)
    randomise(block)
    x = torch.randn(2, 3, 8)
    torch.testing.assert_close(block.train()(x), block.norm2(block.norm1(x)))
    expected = pytorch_encoder_layer(block)(x)
    torch.testing.assert_close(block.eval()(x), expected, rtol=1e-4, atol=1e-5)


def test_every_block_of_a_stack_gets_the_dropout():
    encoder = TransformerEncoder(2, 8, 2, 16, dropout=0.3)
    shares = [module.p for module in encoder.modules() if isinstance(module, nn.Dropout)]
    assert shares == [0.3, 0.3]


@pytest.mark.parametrize("build", [EncoderBlock, lambda *sizes: TransformerEncoder(2, *sizes)])
def test_heads_must_divide_d_model(build):
    with pytest.raises(ValueError, match="does not divide"):
        build(10, 4, 8)
