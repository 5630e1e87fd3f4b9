"""Blocks, encodings and graph layers that are wrong: each in the way that its id says."""

import itertools
from dataclasses import replace

import pytest
import torch

from reference import (
    DecoderBlock,
    EncoderBlock,
    mean_aggregate,
    sinusoidal_positional_encoding,
)
from reference.misconceptions import SENTENCES
from reference.misconceptions.blocks import (
    DECODER_MUTANTS,
    ENCODER_MUTANTS,
    BlockWeights,
    decoder_block,
    encoder_block,
)
from reference.misconceptions.graph import GRAPH_MUTANTS
from reference.misconceptions.positional import POSITIONAL_MUTANTS, encoding
from tests.reference.copying import bias_of, randomise

D, H, D_FF = 12, 3, 7


def attention_of(module):
    roles = {role: getattr(module, f"w_{role}") for role in "qkvo"}
    weights = {role: linear.weight.detach() for role, linear in roles.items()}
    return weights | {f"b{role}": bias_of(linear).detach() for role, linear in roles.items()}


def weights_of(block):
    """The weights of a reference block by role."""
    decoder = isinstance(block, DecoderBlock)
    attentions = [block.self_attention, block.cross_attention] if decoder else [block.attention]
    norms = [block.norm1, block.norm2, *([block.norm3] if decoder else [])]
    return BlockWeights(
        tuple(attention_of(attention) for attention in attentions),
        tuple(norm.weight.detach() for norm in norms),
        tuple(norm.bias.detach() for norm in norms),
        block.linear1.weight.detach(),
        block.linear1.bias.detach(),
        block.linear2.weight.detach(),
        block.linear2.bias.detach(),
    )


def made(kind, bias=True):
    torch.manual_seed(0)
    block = kind(D, H, D_FF, bias=bias)
    randomise(block)
    return block.eval()


def padding(length):
    """True = ignore; every row keeps a key."""
    hidden = torch.zeros(2, length, dtype=torch.bool)
    hidden[0, 2:] = True
    hidden[1, :1] = True
    return hidden


def allowed_of(hidden):
    return None if hidden is None else ~hidden[:, None, None, :]


X, MEMORY = (torch.randn(2, n, D, generator=torch.Generator().manual_seed(n)) for n in (5, 6))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("hidden", [None, padding(5)], ids=["all seen", "padded"])
def test_the_encoder_block_without_a_change_is_the_reference(bias, hidden):
    block = made(EncoderBlock, bias)
    ours = encoder_block(weights_of(block), H, X, allowed_of(hidden))
    torch.testing.assert_close(ours, block(X, hidden))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("hidden", [None, padding(6)], ids=["all seen", "padded"])
def test_the_decoder_block_without_a_change_is_the_reference(bias, hidden):
    block = made(DecoderBlock, bias)
    ours = decoder_block(weights_of(block), H, X, MEMORY, allowed_of(hidden))
    torch.testing.assert_close(ours, block(X, MEMORY, hidden))


def with_equal_scores(weights):
    """Query weights and biases at 0, so that every score is 0."""
    attentions = tuple(
        {**a, "q": torch.zeros_like(a["q"]), "bq": torch.zeros_like(a["bq"])}
        for a in weights.attentions
    )
    return replace(weights, attentions=attentions)


def cases(kind):
    """Weights and inputs; what one hides, another shows."""
    weights = weights_of(made(kind))
    wide = replace(weights, w1=weights.w1 * 20)  # hidden features above 6
    more = () if kind is EncoderBlock else (MEMORY,)
    for chosen in (weights, with_equal_scores(weights), wide):
        for hidden in (None, padding(5 if kind is EncoderBlock else 6)):
            yield chosen, H, X, *more, allowed_of(hidden)


def differs(mutant, right, kind):
    for arguments in cases(kind):
        expected = right(*arguments)
        try:
            got = mutant(*arguments)
        except RuntimeError:  # a mask of keys that does not fit the queries
            return True
        if got.shape != expected.shape or not torch.allclose(got, expected, atol=1e-3):
            return True
    return False


def each(mutants):
    return [
        pytest.param(mutant, id=f"{name}-{number}")
        for name, found in mutants.items()
        for number, mutant in enumerate(found)
    ]


@pytest.mark.parametrize("mutant", each(ENCODER_MUTANTS))
def test_encoder_mutant_differs_from_the_reference(mutant):
    assert differs(mutant, encoder_block, EncoderBlock)


@pytest.mark.parametrize("mutant", each(DECODER_MUTANTS))
def test_decoder_mutant_differs_from_the_reference(mutant):
    assert differs(mutant, decoder_block, DecoderBlock)


def outputs_of(mutant, kind):
    try:
        return [mutant(*arguments).nan_to_num(7.0) for arguments in cases(kind)]
    except RuntimeError:
        return []


@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock])
def test_the_first_mutants_of_a_block_differ_from_each_other(kind):
    mutants = ENCODER_MUTANTS if kind is EncoderBlock else DECODER_MUTANTS
    outputs = {name: outputs_of(found[0], kind) for name, found in mutants.items()}
    same = [
        {one, other}
        for one, other in itertools.combinations([n for n, found in outputs.items() if found], 2)
        if all(
            torch.allclose(a, b, atol=1e-4)
            for a, b in zip(outputs[one], outputs[other], strict=True)
        )
    ]
    assert same == []


def test_what_only_a_mask_shows_is_right_without_one():
    for name in ("mask-inverted", "padding-mask-not-passed"):
        for weights, heads, x, allowed in cases(EncoderBlock):
            if allowed is None:
                got = ENCODER_MUTANTS[name][0](weights, heads, x, allowed)
                torch.testing.assert_close(got, encoder_block(weights, heads, x))


@pytest.mark.parametrize(("max_len", "d_model"), [(1, 2), (7, 4), (600, 16), (50, 512)])
def test_the_encoding_without_a_change_is_the_reference(max_len, d_model):
    right = sinusoidal_positional_encoding(max_len, d_model)
    torch.testing.assert_close(encoding(max_len, d_model), right, rtol=0, atol=1e-6)


@pytest.mark.parametrize("mutant", each(POSITIONAL_MUTANTS))
def test_positional_mutant_differs_from_the_reference(mutant):
    got, right = mutant(50, 16), sinusoidal_positional_encoding(50, 16)
    assert got.shape == right.shape
    assert got.dtype == right.dtype
    assert float((got - right).abs().max()) > 0.01


def test_positional_mutants_differ_from_each_other_but_for_one():
    tables = {
        (name, number): mutant(50, 24)
        for name, found in POSITIONAL_MUTANTS.items()
        for number, mutant in enumerate(found)
    }
    same = [
        (one[0], other[0])
        for one, other in itertools.combinations(tables, 2)
        if torch.allclose(tables[one], tables[other], atol=1e-3)
    ]
    # 10000^(i/D) is 100^(2i/D), so half the exponent is the base 100
    assert same == [("pe-exponent-index", "pe-base")]


def graph():
    """A directed graph of unequal degrees, with a self-loop and a node that takes nothing."""
    torch.manual_seed(0)
    edges = torch.tensor(
        [[0, 1, 1, 0], [0, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 0]], dtype=torch.float32
    )
    return torch.randn(4, 3), edges


@pytest.mark.parametrize("mutant", GRAPH_MUTANTS.values(), ids=GRAPH_MUTANTS)
def test_graph_mutant_differs_from_the_reference(mutant):
    features, edges = graph()
    got = mutant(features, edges)
    assert got.shape == features.shape
    assert not torch.allclose(got, mean_aggregate(features, edges), atol=1e-3)


def test_graph_mutants_differ_from_each_other():
    results = [mutant(*graph()) for mutant in GRAPH_MUTANTS.values()]
    for number, result in enumerate(results):
        assert all(not torch.allclose(result, other, atol=1e-3) for other in results[:number])


@pytest.mark.parametrize("name", ["graph-transposed", "graph-column-normalised"])
def test_a_graph_without_directions_of_equal_degrees_hides_directions(name):
    ring = torch.roll(torch.eye(5), 1, 1) + torch.roll(torch.eye(5), -1, 1)
    features = graph()[0].new_tensor([[1.0], [2.0], [4.0], [8.0], [16.0]])
    torch.testing.assert_close(GRAPH_MUTANTS[name](features, ring), mean_aggregate(features, ring))


@pytest.mark.parametrize(
    "mutants", [ENCODER_MUTANTS, DECODER_MUTANTS, POSITIONAL_MUTANTS, GRAPH_MUTANTS]
)
def test_every_mutant_has_a_sentence(mutants):
    assert sorted(mutants.keys() - SENTENCES.keys()) == []


def test_every_sentence_is_one_that_a_student_can_read():
    for name, sentence in SENTENCES.items():
        assert sentence.endswith("."), name
        assert len(sentence) <= 200, name
    assert len(set(SENTENCES.values())) == len(SENTENCES)
