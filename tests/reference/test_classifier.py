"""The classifier against the same model put together from PyTorch's own layers."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from reference import TransformerEncoderClassifier, sinusoidal_positional_encoding
from tests.reference.copying import count, pytorch_encoder, randomise


def build(seed=0, **arguments):
    torch.manual_seed(seed)
    return TransformerEncoderClassifier(
        11, 3, d_model=8, n_heads=2, d_ff=12, max_len=10, **arguments
    ).eval()


@settings(deadline=None, derandomize=True, max_examples=30)
@given(
    batch=st.integers(1, 3), length=st.integers(1, 10), pad_id=st.integers(0, 10),
    padded=st.floats(0, 1), seed=st.integers(0, 2**31),
)  # fmt: skip
def test_logits_equal_those_of_pytorchs_own_layers(batch, length, pad_id, padded, seed):
    model = build(seed, pad_id=pad_id)
    randomise(model)
    ids = torch.randint(11, (batch, length))
    ids[torch.rand(batch, length) < padded] = pad_id

    tokens = F.embedding(ids, model.embedding.weight)
    x = torch.cat([model.cls.expand(batch, 1, 8), tokens], dim=1)
    x = x + sinusoidal_positional_encoding(length + 1, 8)
    ignore = F.pad(ids == pad_id, (1, 0), value=False)
    x = pytorch_encoder(model.encoder.layers)(x, src_key_padding_mask=ignore)
    expected = F.linear(x[:, 0], model.head.weight, model.head.bias)

    torch.testing.assert_close(model(ids), expected, rtol=1e-3, atol=1e-4)


def test_padding_at_the_end_changes_nothing():
    model = build()
    ids = torch.randint(1, 11, (4, 6))
    torch.testing.assert_close(model(F.pad(ids, (0, 4), value=0)), model(ids))


def test_a_sentence_of_padding_alone_is_as_good_as_none_for_cls_is_never_masked():
    model = build()
    nothing = model(torch.zeros(2, 0, dtype=torch.int64))
    assert nothing.isfinite().all()
    torch.testing.assert_close(model(torch.zeros(2, 5, dtype=torch.int64)), nothing)


def test_the_order_of_the_tokens_matters():
    model = build()
    ids = torch.arange(1, 8)[None]
    assert (model(ids) - model(ids.flip(1))).abs().max() > 1e-2


def test_the_longest_sentence_is_max_len():
    model = build()
    assert model(torch.ones(2, 10, dtype=torch.int64)).shape == (2, 3)
    with pytest.raises(ValueError, match="11 tokens, but max_len=10"):
        model(torch.ones(2, 11, dtype=torch.int64))


def test_the_positional_encoding_is_neither_learned_nor_saved():
    model = build()
    assert model.positions.shape == (11, 8)
    assert {name for name, _ in model.named_buffers()} == {"positions"}
    assert set(model.state_dict()) == {name for name, _ in model.named_parameters()}


def test_dropout_takes_the_embeddings_and_both_sublayers_of_each_block():
    model = build(dropout=1.0).train()
    randomise(model)
    nothing = torch.zeros(8)
    for block in model.encoder.layers:
        nothing = block.norm2(block.norm1(nothing))
    expected = model.head(nothing).expand(2, 3)
    torch.testing.assert_close(model(torch.randint(1, 11, (2, 4))), expected)


def test_every_parameter_gets_a_gradient():
    model = build()
    model(torch.randint(1, 11, (64, 10))).square().sum().backward()
    assert [name for name, p in model.named_parameters() if not p.grad.abs().sum() > 0] == []


def test_the_parameters_are_those_of_the_parts():
    block = 4 * 8**2 + (8 * 12 + 12 + 12 * 8 + 8) + 2 * 16
    assert count(build(n_layers=3)) == 11 * 8 + 8 + 3 * block + (8 * 3 + 3)
