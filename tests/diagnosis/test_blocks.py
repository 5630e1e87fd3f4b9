"""A block is read whatever the layout of its parameters; agreement on fresh values is proof."""

import functools

import pytest
import torch
from torch import nn

from grader.checks.draw import Draw
from grader.diagnosis import blocks
from grader.diagnosis.blocks import (
    D_FF,
    D_MODEL,
    LIKELY,
    N_HEADS,
    BlockSearch,
    Unreadable,
    right_block,
    take_inventory,
)
from grader.diagnosis.layouts import MAX_LAYOUTS, attention_layouts
from reference import DecoderBlock, EncoderBlock
from tests.diagnosis.spelled import (
    Block,
    Convolutions,
    Decoder,
    FeedForward,
    HeadLists,
    ListOfHeads,
    Norms,
    SpelledAttention,
    layer_norms,
    post_norm,
)

OUT = {"o": ("o", "I HK")}
LINEAR = {"q": ("q", "HK I"), "k": ("k", "HK I"), "v": ("v", "HK I"), **OUT}
BIASES = {"b_q": ("q", "HK"), "b_k": ("k", "HK"), "b_v": ("v", "HK")}


def spelled(weights, biases=None, output_bias=False):
    return functools.partial(SpelledAttention, weights, biases, output_bias)


def fused(roles, axes, biases=None, **more):
    return spelled({"qkv": (roles, axes), **OUT}, biases, **more)


ATTENTIONS = {
    "Linears": spelled(LINEAR),
    "Linears with biases": spelled(LINEAR, BIASES, output_bias=True),
    "Linears with an output bias only": spelled(LINEAR, output_bias=True),
    "Linears with biases but for the output": spelled(LINEAR, BIASES),
    "Linears with a query bias only": spelled(LINEAR, {"b": ("q", "HK")}),
    "Linears with a value bias only": spelled(LINEAR, {"b": ("v", "HK")}),
    "Linears without a key bias": spelled(LINEAR, {"b": ("q", "HK"), "c": ("v", "HK")}, True),
    "Linears, the output's first": spelled({**OUT, **LINEAR}),
    "Linears of odd names and order": spelled(
        {"a": ("v", "HK I"), "b": ("o", "I HK"), "c": ("k", "HK I"), "d": ("q", "HK I")}
    ),
    "fused qkv": fused("qkv", "RHK I"),
    "fused kqv": fused("kqv", "RHK I"),
    "fused vkq with biases": fused("vkq", "RHK I", {"b": ("vkq", "RHK")}, output_bias=True),
    "fused qvk by head": fused("qvk", "HRK I"),
    "fused vqk by head with biases": fused("vqk", "HRK I", {"b": ("vqk", "HRK")}, output_bias=True),
    "fused kvq by feature": fused("kvq", "HKR I"),
    "fused, interleaved": spelled({"w": ("qkv", "RKH I"), "o": ("o", "I KH")}),
    "fused, transposed": fused("qkv", "I RHK"),
    "fused, transposed, by head": fused("qkv", "I HRK"),
    "fused, 4-D by role": spelled({"w": ("qkv", "R H K I"), "o": ("o", "H K I")}),
    "fused, 4-D by head": spelled(
        {"w": ("qkv", "H R K I"), "o": ("o", "H K I")}, {"b": ("qkv", "H R K")}
    ),
    "fused key and value": spelled({"q": ("q", "HK I"), "kv": ("kv", "RHK I"), **OUT}),
    "fused value and key by head": spelled(
        {"q": ("q", "HK I"), "kv": ("vk", "HRK I"), **OUT},
        {"b": ("q", "HK"), "c": ("vk", "HRK")},
        output_bias=True,
    ),
    "3-D": spelled(
        {"q": ("q", "H I K"), "k": ("k", "H I K"), "v": ("v", "H I K"), "o": ("o", "H K I")},
        {"b": ("q", "H K"), "c": ("k", "H K"), "d": ("v", "H K")},
        output_bias=True,
    ),
    "x @ W": spelled(
        {"a": ("q", "I HK"), "b": ("k", "I HK"), "c": ("v", "I HK"), "d": ("o", "HK I")}
    ),
    "one tensor for all four": spelled({"w": ("qkvo", "R HK I", "R I HK")}),
    "one tensor for all four, x @ W": spelled({"w": ("qkvo", "R I HK", "R HK I")}),
    "Conv1d": Convolutions,
    "ModuleLists of heads": HeadLists,
    "ModuleLists of heads without biases": functools.partial(HeadLists, (False, False, False)),
    "a module for each head": ListOfHeads,
}

REST = {
    "norms registered backwards": {"norms": lambda n: layer_norms(n, list(range(n))[::-1])},
    "the last norm first": {"norms": lambda n: layer_norms(n, [n - 1, *range(n - 1)])},
    "raw gains, then shifts": {"norms": lambda n: Norms(n, gains_first=True)},
    "raw shifts, then gains": {"norms": lambda n: Norms(n, gains_first=False)},
    "feed-forward first": {"order": ("feed_forward", "attention", "norms")},
    "norms first": {"order": ("norms", "feed_forward", "attention")},
    "x @ W in the feed-forward": {"feed_forward": lambda: FeedForward(transposed="w1 w2")},
    "one of its matrices transposed": {"feed_forward": lambda: FeedForward(transposed="w2")},
    "its second matrix first": {"feed_forward": lambda: FeedForward("w2 c2 w1 c1")},
    "its biases last": {"feed_forward": lambda: FeedForward("w1 w2 c2 c1", "w1")},
    "without biases": {"feed_forward": lambda: FeedForward("w1 w2")},
    "with its first bias only": {"feed_forward": lambda: FeedForward("w1 c1 w2")},
}


def set_values(module, values):
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(values[name])


def search_of(module, decoder, asked=None):
    def ask(values, x, memory):
        if asked is not None:
            asked.append(1)
        set_values(module, values)
        with torch.no_grad():
            return module(x, memory)

    def reached(values, x, memory):
        set_values(module, values)
        module.zero_grad()
        out = module(x, memory)
        (out * torch.randn(out.shape)).sum().backward()
        return {
            name
            for name, parameter in module.named_parameters()
            if parameter.grad is not None and parameter.grad.abs().max() > 1e-6
        }

    fresh = {name: p.detach().clone() for name, p in module.named_parameters()}
    return BlockSearch(fresh, ask, reached, Draw("blocks", "search"), decoder)


def agrees(reading, module, decoder, zero=()):
    """Whether the right block is this module, on weights and inputs that no search has seen."""
    values = {
        name: torch.randn(p.shape) * (0.0 if name in zero else 0.5)
        for name, p in module.named_parameters()
    }
    x, memory = torch.randn(2, 5, D_MODEL), torch.randn(2, 6, D_MODEL)
    set_values(module, values)
    with torch.no_grad():
        got = module(x, memory)
    right = right_block(reading.weights(values), N_HEADS, x, memory, None, decoder)
    return torch.allclose(got, right, rtol=1e-3, atol=1e-4)


def assert_is_read(module, decoder):
    asked = []
    reading = search_of(module, decoder, asked).read()
    assert agrees(reading, module, decoder)
    assert len(asked) <= 16  # a call of the submission each


@pytest.mark.parametrize("attention", ATTENTIONS.values(), ids=ATTENTIONS)
def test_an_encoder_block_is_read_whatever_its_attention_looks_like(attention):
    assert_is_read(Block(attention), decoder=False)


@pytest.mark.parametrize("attention", ATTENTIONS.values(), ids=ATTENTIONS)
def test_a_decoder_block_is_read_whatever_its_attentions_look_like(attention):
    assert_is_read(Decoder(attention), decoder=True)


@pytest.mark.parametrize("rest", REST.values(), ids=REST)
@pytest.mark.parametrize("kind", [Block, Decoder])
@pytest.mark.parametrize("output_bias", [False, True])
def test_a_block_is_read_whatever_stands_around_its_attention(kind, rest, output_bias):
    module = kind(spelled(LINEAR, output_bias=output_bias), **rest)
    assert_is_read(module, kind is Decoder)


class Alone(nn.Module):
    """A block that takes no memory, or one whose mask must be given."""

    def __init__(self, block, masked=False):
        super().__init__()
        self.block, self.masked = block, masked

    def forward(self, x, memory):
        if self.masked:
            hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
            return self.block(x, memory, tgt_mask=hidden)
        return self.block(x)


@pytest.mark.parametrize("bias", [False, True])
def test_the_reference_blocks_are_read(bias):
    assert_is_read(Alone(EncoderBlock(D_MODEL, N_HEADS, D_FF, bias=bias)), decoder=False)
    assert_is_read(DecoderBlock(D_MODEL, N_HEADS, D_FF, bias=bias), decoder=True)


def test_pytorchs_own_encoder_layer_is_read():
    layer = nn.TransformerEncoderLayer(D_MODEL, N_HEADS, D_FF, 0.0, batch_first=True)
    assert_is_read(Alone(layer), decoder=False)


def test_pytorchs_own_decoder_layer_is_read():
    layer = nn.TransformerDecoderLayer(D_MODEL, N_HEADS, D_FF, 0.0, batch_first=True)
    assert_is_read(Alone(layer, masked=True), decoder=True)


class OtherFirst(Decoder):
    """The cross-attention registered before the self-attention."""

    attentions = ("cross_attention", "self_attention")


def test_the_two_attentions_are_told_apart_by_what_they_do():
    assert_is_read(OtherFirst(spelled(LINEAR, BIASES, output_bias=True)), decoder=True)
    assert_is_read(OtherFirst(fused("kqv", "HRK I")), decoder=True)


class OfTwoKinds(Decoder):
    """Attentions of two layouts in one block."""

    def __init__(self, first, second):
        super().__init__(first)
        self.cross_attention = second()


@pytest.mark.parametrize("second", ["fused qvk by head", "3-D", "Conv1d", "ModuleLists of heads"])
def test_the_attentions_of_a_decoder_block_may_be_of_two_kinds(second):
    module = OfTwoKinds(ATTENTIONS["Linears with biases"], ATTENTIONS[second])
    assert_is_read(module, decoder=True)


# wrong ones


def pre_norm(x, sublayer, norm):
    return x + sublayer(norm(x))


def without_residual(x, sublayer, norm):
    return norm(sublayer(x))


def norm_of_sublayer(x, sublayer, norm):
    return x + norm(sublayer(x))


def without_norm(x, sublayer, norm):
    return x + sublayer(x)


def without_sublayer(x, sublayer, norm):
    return norm(x)


class Acausal(Decoder):
    def seen(self, length):
        return None


class Anticausal(Decoder):
    """The mask that hides the past."""

    def seen(self, length):
        return super().seen(length).T


class CrossFirst(Decoder):
    def forward(self, x, memory):
        x = self.norms[0](x + self.cross_attention(x, memory))
        x = self.norms[1](x + self.self_attention(x, x, self.seen(x.shape[1])))
        return self.norms[2](x + self.feed_forward(x))


class Causal(Block):
    def forward(self, x, memory):
        seen = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        x = self.norms[0](x + self.attention(x, x, seen))
        return self.norms[1](x + self.feed_forward(x))


class Unscaled(SpelledAttention):
    def project(self, x, role):
        return super().project(x, role) * (5**0.5 if role == "q" else 1)


def is_unread_or_disagrees(module, decoder):
    try:
        reading = search_of(module, decoder).read()
    except Unreadable as problem:
        return problem.usual and bool(str(problem))
    return not agrees(reading, module, decoder)


ADD_NORMS = [pre_norm, without_residual, norm_of_sublayer, without_norm, without_sublayer]


@pytest.mark.parametrize("add_norm", ADD_NORMS)
@pytest.mark.parametrize(
    ("kind", "places"),
    [(Block, [0, 1]), (Block, [0]), (Block, [1]), (Decoder, [0, 1, 2]), (Decoder, [1])],
)
def test_no_reading_makes_a_wrongly_joined_block_right(kind, places, add_norm):
    ways = [add_norm if place in places else post_norm for place in range(3)]
    module = kind(spelled(LINEAR, output_bias=True), add_norms=ways)
    assert is_unread_or_disagrees(module, kind is Decoder)


ACTIVATIONS = {
    "gelu": nn.functional.gelu,
    "none": lambda h: h,
    "tanh": torch.tanh,
    "leaky": nn.functional.leaky_relu,
    "silu": nn.functional.silu,
}


@pytest.mark.parametrize("activation", ACTIVATIONS.values(), ids=ACTIVATIONS)
@pytest.mark.parametrize("kind", [Block, Decoder])
def test_no_reading_makes_another_activation_right(kind, activation):
    module = kind(spelled(LINEAR), functools.partial(FeedForward, activation=activation))
    assert is_unread_or_disagrees(module, kind is Decoder)


@pytest.mark.parametrize("kind", [Acausal, Anticausal, CrossFirst, Causal])
@pytest.mark.parametrize("attention", ["fused qkv", "3-D"])
def test_no_reading_makes_a_wrong_mask_or_order_right(kind, attention):
    assert is_unread_or_disagrees(kind(ATTENTIONS[attention]), issubclass(kind, Decoder))


@pytest.mark.parametrize("kind", [Block, Decoder])
def test_no_reading_makes_unscaled_scores_right(kind):
    module = kind(functools.partial(Unscaled, LINEAR))
    assert is_unread_or_disagrees(module, kind is Decoder)


def without(name):
    """A reference block that lacks one of its modules."""
    block = EncoderBlock(D_MODEL, N_HEADS, D_FF)
    parent, _, child = name.rpartition(".")
    del block.get_submodule(parent)._modules[child]
    return block


@pytest.mark.parametrize("name", ["attention.w_k", "attention.w_o", "norm2", "linear1", "linear2"])
def test_a_block_with_a_part_missing_is_not_of_the_usual_kind(name):
    fresh = {n: p.detach() for n, p in without(name).named_parameters()}
    with pytest.raises(Unreadable) as info:
        take_inventory(fresh, attentions=1)
    assert not info.value.usual


@pytest.mark.parametrize(
    "more",
    [
        nn.LayerNorm(D_MODEL),
        nn.Linear(D_MODEL, D_MODEL),
        nn.Linear(D_MODEL, D_FF),
        nn.Linear(D_FF, D_FF),
    ],
)
def test_a_block_with_a_part_too_many_is_not_of_the_usual_kind(more):
    block = EncoderBlock(D_MODEL, N_HEADS, D_FF)
    block.more = more
    with pytest.raises(Unreadable) as info:
        take_inventory({n: p.detach() for n, p in block.named_parameters()}, attentions=1)
    assert not info.value.usual


def test_an_encoder_block_is_no_decoder_block_and_the_other_way_round():
    encoder = EncoderBlock(D_MODEL, N_HEADS, D_FF)
    decoder = DecoderBlock(D_MODEL, N_HEADS, D_FF)
    for block, attentions in ((encoder, 2), (decoder, 1)):
        with pytest.raises(Unreadable) as info:
            take_inventory({n: p.detach() for n, p in block.named_parameters()}, attentions)
        assert not info.value.usual


# what it takes, and what is told without a reading


@pytest.mark.parametrize("kind", [Block, Decoder])
@pytest.mark.parametrize("attention", ["Linears", "one tensor for all four"])
def test_a_search_without_success_tries_no_more_layouts_than_allowed(kind, attention, monkeypatch):
    tried = []

    def counted(*arguments):
        for layout in attention_layouts(*arguments):
            tried.append(layout)
            yield layout

    monkeypatch.setattr(blocks, "attention_layouts", counted)
    module = kind(ATTENTIONS[attention])
    if kind is Block:
        module.forward = lambda x, memory: Causal.forward(module, x, memory)
    else:
        module.seen = lambda length: None
    assert is_unread_or_disagrees(module, kind is Decoder)
    assert 0 < len(tried) <= 2 * MAX_LAYOUTS * (2 if kind is Decoder else 1)


def is_likely(module, decoder):
    search = search_of(module, decoder)
    likely = list(search.likely())
    assert len(likely) <= 2 * LIKELY
    return any(agrees(reading, module, decoder, search.unplaced(reading)) for reading in likely)


@pytest.mark.parametrize("bias", [False, True])
def test_the_reference_blocks_are_among_the_likely_readings(bias):
    assert is_likely(Alone(EncoderBlock(D_MODEL, N_HEADS, D_FF, bias=bias)), decoder=False)
    assert is_likely(DecoderBlock(D_MODEL, N_HEADS, D_FF, bias=bias), decoder=True)


def test_pytorchs_layer_is_among_the_likely_readings():
    layer = nn.TransformerEncoderLayer(D_MODEL, N_HEADS, D_FF, 0.0, batch_first=True)
    assert is_likely(Alone(layer), decoder=False)


def test_raw_gains_and_shifts_are_paired_in_their_order():
    module = Block(
        spelled({"w_q": LINEAR["q"], "w_k": LINEAR["k"], "w_v": LINEAR["v"], "w_o": LINEAR["o"]}),
        lambda: FeedForward("w1 w2"),
        lambda count: Norms(count, gains_first=True),
    )
    assert is_likely(module, decoder=False)
