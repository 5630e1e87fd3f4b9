"""Wrong encoder and decoder blocks over given weights: the right block with one part replaced."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from reference.misconceptions.layer import (
    LAYER_MUTANTS,
    LAYER_PAIRS,
    LAYER_VARIANTS,
    Layer,
    Weights,
    layer,
)

Sublayer = Callable[[Tensor], Tensor]
Norm = Callable[[Tensor, Tensor, Tensor], Tensor]
AddNorm = Callable[[Tensor, Sublayer, Sublayer], Tensor]
Activation = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class BlockWeights:
    """The weights of a block by role.

    Attributes:
        attentions: of the self-attention, and in a decoder of the cross-attention: "q", "k", "v",
            "o", each (D, D), and "bq", "bk", "bv", "bo", each (D,).
        gains: of the norms in order, each (D,).
        shifts: of the norms in order, each (D,).
        w1: (d_ff, D), as in `nn.Linear`.
        c1: (d_ff,)
        w2: (D, d_ff)
        c2: (D,)
    """

    attentions: tuple[Weights, ...]
    gains: tuple[Tensor, ...]
    shifts: tuple[Tensor, ...]
    w1: Tensor
    c1: Tensor
    w2: Tensor
    c2: Tensor


def layer_norm(x: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
    """Layer normalisation over the features."""
    return F.layer_norm(x, x.shape[-1:], gain, shift, 1e-5)


def post_norm(x: Tensor, sublayer: Sublayer, norm: Sublayer) -> Tensor:
    """LayerNorm(x + sublayer(x))."""
    return norm(x + sublayer(x))


def _pre_norm(x: Tensor, sublayer: Sublayer, norm: Sublayer) -> Tensor:
    return x + sublayer(norm(x))


def _norm_of_sublayer(x: Tensor, sublayer: Sublayer, norm: Sublayer) -> Tensor:
    return x + norm(sublayer(x))


def _norm_missing(x: Tensor, sublayer: Sublayer, norm: Sublayer) -> Tensor:
    del norm
    return x + sublayer(x)


def _residual_missing(x: Tensor, sublayer: Sublayer, norm: Sublayer) -> Tensor:
    return norm(sublayer(x))


def _residual_of_normalised(x: Tensor, sublayer: Sublayer, norm: Sublayer) -> Tensor:
    normalised = norm(x)
    return normalised + sublayer(normalised)


def _skipped(x: Tensor, sublayer: Sublayer, norm: Sublayer) -> Tensor:
    del sublayer, norm
    return x


def _sublayer_skipped(x: Tensor, sublayer: Sublayer, norm: Sublayer) -> Tensor:
    del sublayer
    return norm(x)


def _by_hand(dim: int | tuple[int, ...], correction: int = 0) -> Norm:
    """A layer norm over other dimensions, or with another standard deviation."""

    def norm(x: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
        mean = x.mean(dim, keepdim=True)
        variance = x.var(dim, correction=correction, keepdim=True)
        return (x - mean) / torch.sqrt(variance + 1e-5) * gain + shift

    return norm


@dataclass(frozen=True)
class Recipe:
    """The steps of a block; by default those of the right one.

    Attributes:
        add_norms: how each sublayer is joined with its input, in order.
        norm: the normalisation.
        norms: which of the norms each sublayer uses.
        activation: between the two linear layers.
        self_attention: the attention over x.
        cross_attention: the attention to the memory.
    """

    add_norms: tuple[AddNorm, AddNorm, AddNorm] = (post_norm, post_norm, post_norm)
    norm: Norm = layer_norm
    norms: tuple[int, int, int] = (0, 1, 2)
    activation: Activation = torch.relu
    self_attention: Layer = layer
    cross_attention: Layer = layer


RIGHT = Recipe()


def encoder_block(
    weights: BlockWeights,
    n_heads: int,
    x: Tensor,
    allowed: Tensor | None = None,
    recipe: Recipe = RIGHT,
    *,
    stale_residual: bool = False,
) -> Tensor:
    """An encoder block over given weights; by default it is the reference's.

    Args:
        weights: by role.
        n_heads: H.
        x: (B, T, D)
        allowed: True = may attend, broadcastable to (B, 1, T, T).
        recipe: its steps.
        stale_residual: whether the second residual is the block's input.
    """

    def attend(h: Tensor) -> Tensor:
        return recipe.self_attention(weights.attentions[0], n_heads, h, h, h, allowed)[0]

    h = recipe.add_norms[0](x, attend, _norm(weights, recipe, 0))
    if stale_residual:
        return _norm(weights, recipe, 1)(x + _feed_forward(weights, recipe)(h))
    return recipe.add_norms[1](h, _feed_forward(weights, recipe), _norm(weights, recipe, 1))


def decoder_block(
    weights: BlockWeights,
    n_heads: int,
    x: Tensor,
    memory: Tensor,
    allowed: Tensor | None = None,
    recipe: Recipe = RIGHT,
    *,
    cross_first: bool = False,
    stale_query: bool = False,
    own_memory: bool = False,
    stale_residual: int | None = None,
) -> Tensor:
    """A decoder block over given weights; by default it is the reference's.

    Args:
        weights: by role.
        n_heads: H.
        x: (B, T, D)
        memory: (B, S, D)
        allowed: True = may attend, broadcastable to (B, 1, T, S); of the memory.
        recipe: its steps.
        cross_first: whether cross-attention comes before self-attention.
        stale_query: whether cross-attention asks with x itself.
        own_memory: whether keys and values of the cross-attention are its queries.
        stale_residual: of a later sublayer, whose residual is the input of the one before it: 1 or
            2; 0 for the last sublayer with the block's input; None where all are right.
    """
    length = x.shape[1]
    causal = torch.ones(length, length, dtype=torch.bool).tril()

    def attend(h: Tensor) -> Tensor:
        return recipe.self_attention(weights.attentions[0], n_heads, h, h, h, causal)[0]

    def cross(h: Tensor) -> Tensor:
        query = x if stale_query else h
        kept = h if own_memory else memory
        mask = None if own_memory else allowed
        return recipe.cross_attention(weights.attentions[1], n_heads, query, kept, kept, mask)[0]

    first, second = (cross, attend) if cross_first else (attend, cross)
    attended = recipe.add_norms[0](x, first, _norm(weights, recipe, 0))
    norm, last = _norm(weights, recipe, 1), _norm(weights, recipe, 2)
    if stale_residual == 1:
        h = norm(x + second(attended))
    else:
        h = recipe.add_norms[1](attended, second, norm)
    if stale_residual in (0, 2):
        source = x if stale_residual == 0 else attended
        return last(source + _feed_forward(weights, recipe)(h))
    return recipe.add_norms[2](h, _feed_forward(weights, recipe), last)


def _norm(weights: BlockWeights, recipe: Recipe, index: int) -> Sublayer:
    """The norm after a sublayer."""
    chosen = recipe.norms[index]
    return lambda h: recipe.norm(h, weights.gains[chosen], weights.shifts[chosen])


def _feed_forward(weights: BlockWeights, recipe: Recipe) -> Sublayer:
    def feed_forward(h: Tensor) -> Tensor:
        hidden = recipe.activation(F.linear(h, weights.w1, weights.c1))
        return F.linear(hidden, weights.w2, weights.c2)

    return feed_forward


def _everywhere_or_once(other: AddNorm, count: int) -> list[Recipe]:
    """Recipes with another way of joining, in all sublayers or in one of them."""
    places = [range(count), *([index] for index in range(count))]
    return [
        Recipe(
            add_norms=(
                other if 0 in place else post_norm,
                other if 1 in place else post_norm,
                other if 2 in place else post_norm,
            )
        )
        for place in places
    ]


def _causal(
    weights: Weights, n_heads: int, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    causal = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril()
    return layer(
        weights, n_heads, query, key, value, causal if mask is None else causal & (mask != 0)
    )


def _shifted(
    weights: Weights,
    n_heads: int,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    *,
    diagonal: int,
) -> tuple[Tensor, Tensor]:
    """A causal mask that is off by some positions; a query without keys gets zeros."""
    del mask
    seen = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril(diagonal)
    output, attended = layer(weights, n_heads, query, key, value, seen)
    return torch.nan_to_num(output), attended


def _unprojected(
    weights: Weights, n_heads: int, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    eye = torch.eye(query.shape[-1])
    zero = torch.zeros(query.shape[-1])
    plain = {**dict.fromkeys("qkvo", eye), **{f"b{r}": zero for r in "qkvo"}}
    del weights
    return layer(plain, n_heads, query, key, value, mask)


# Wrong attentions that show inside a block, where query, key and value are one input. A mask that
# is ignored there is one that is not passed.
ATTENTIONS: Mapping[str, list[Layer]] = {
    name: [mutant, *(other for given, other in LAYER_VARIANTS if given == name)]
    for name, mutant in LAYER_MUTANTS.items()
    if name
    not in (
        "causal-built-in",
        "cross-ignores-memory",
        "mask-ignored",
        "values-are-keys",
        "weights-returned-wrong",
    )
}
_unmasked = LAYER_MUTANTS["mask-ignored"]


def _parts(count: int) -> dict[str, list[Recipe]]:
    """Wrong norms, residuals and feed-forward networks of a block with `count` sublayers."""
    last = count - 1
    without_ffn = [post_norm, post_norm, post_norm]
    without_ffn[last] = _skipped
    only_normed = [post_norm, post_norm, post_norm]
    only_normed[last] = _sublayer_skipped
    activations: dict[str, list[Activation]] = {
        "ffn-no-activation": [lambda h: h],
        "ffn-other-activation": [
            F.gelu,
            partial(F.gelu, approximate="tanh"),
            torch.tanh,
            torch.sigmoid,
            F.silu,
            F.leaky_relu,
            F.elu,
            F.relu6,
            F.softplus,
        ],
    }
    norms: dict[str, list[Norm]] = {
        "norm-unbiased-std": [_by_hand(-1, correction=1)],
        "norm-wrong-axis": [_by_hand(1), _by_hand(0), _by_hand((1, 2)), _by_hand((0, 1))],
    }
    return {
        "norm-pre": _everywhere_or_once(_pre_norm, count),
        "norm-of-sublayer": _everywhere_or_once(_norm_of_sublayer, count),
        "norm-missing": _everywhere_or_once(_norm_missing, count),
        "residual-missing": _everywhere_or_once(_residual_missing, count),
        "residual-of-normalised": _everywhere_or_once(_residual_of_normalised, count),
        "ffn-missing": [
            Recipe(add_norms=(without_ffn[0], without_ffn[1], without_ffn[2])),
            Recipe(add_norms=(only_normed[0], only_normed[1], only_normed[2])),
        ],
        "norm-shared": [
            Recipe(norms=norms_)
            for norms_ in ((0, 0, 0), (1, 1, 1), (0, 0, 2), (0, 1, 1), (0, 1, 0), (2, 1, 2))
            if max(norms_[:count]) < count and norms_[:count] != (0, 1, 2)[:count]
        ],
        **{name: [Recipe(activation=a) for a in found] for name, found in activations.items()},
        **{name: [Recipe(norm=norm) for norm in found] for name, found in norms.items()},
    }


EncoderMutant = Callable[[BlockWeights, int, Tensor, Tensor | None], Tensor]
DecoderMutant = Callable[[BlockWeights, int, Tensor, Tensor, Tensor | None], Tensor]


def _inverted(mutant: EncoderMutant) -> EncoderMutant:
    def block(weights: BlockWeights, n_heads: int, x: Tensor, allowed: Tensor | None) -> Tensor:
        return mutant(weights, n_heads, x, None if allowed is None else ~allowed)

    return block


def _by_count(allowed: Tensor | None) -> Tensor | None:
    """As many keys hidden as should be, and always the last ones."""
    if allowed is None:
        return None
    seen = allowed.sum(-1, keepdim=True)
    return torch.arange(allowed.shape[-1]) < seen


def _across_batch(
    weights: Weights, n_heads: int, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Samples and positions exchanged, as without batch_first."""
    del mask
    turned = [given.transpose(0, 1) for given in (query, key, value)]
    output, attended = layer(weights, n_heads, turned[0], turned[1], turned[2], None)
    return output.transpose(0, 1), attended


def _encoder_mutants() -> Mapping[str, list[EncoderMutant]]:
    recipes: dict[str, list[Recipe]] = {
        **_parts(2),
        "encoder-causal": [Recipe(self_attention=_causal)],
        "padding-mask-not-passed": [Recipe(self_attention=_unmasked)],
        "batch-mixed": [Recipe(self_attention=_across_batch)],
        **{name: [Recipe(self_attention=a) for a in found] for name, found in ATTENTIONS.items()},
    }
    mutants: dict[str, list[EncoderMutant]] = {
        name: [partial(encoder_block, recipe=recipe) for recipe in found]
        for name, found in recipes.items()
    }
    mutants["mask-inverted"] = [_inverted(encoder_block), *mutants["mask-inverted"]]
    mutants["mask-by-position"] = [
        lambda weights, n_heads, x, allowed: encoder_block(weights, n_heads, x, _by_count(allowed))
    ]
    mutants["residual-wrong-source"] = [partial(encoder_block, stale_residual=True)]
    return mutants


def _decoder_mutants() -> Mapping[str, list[DecoderMutant]]:
    recipes: dict[str, list[Recipe]] = {
        **_parts(3),
        "decoder-not-causal": [Recipe(self_attention=_unmasked)],
        "decoder-causal-shifted": [
            Recipe(self_attention=partial(_shifted, diagonal=-1)),
            Recipe(self_attention=partial(_shifted, diagonal=1)),
        ],
        "decoder-cross-causal": [Recipe(cross_attention=_causal)],
        "padding-mask-not-passed": [Recipe(cross_attention=_unmasked)],
        "cross-unprojected": [Recipe(cross_attention=_unprojected)],
        "decoder-cross-missing": [
            Recipe(add_norms=(post_norm, _skipped, post_norm)),
            Recipe(add_norms=(post_norm, _skipped, post_norm), norms=(0, 1, 1)),
        ],
        **{
            name: [
                recipe
                for attend in found
                for recipe in (
                    Recipe(self_attention=attend, cross_attention=attend),
                    Recipe(self_attention=attend),
                    Recipe(cross_attention=attend),
                )
            ]
            for name, found in ATTENTIONS.items()
        },
    }
    mutants: dict[str, list[DecoderMutant]] = {"mask-one-dropped": [_one_mask]}
    mutants |= {
        name: [partial(decoder_block, recipe=recipe) for recipe in found]
        for name, found in recipes.items()
    }
    mutants["residual-wrong-source"] = [
        partial(decoder_block, stale_residual=index) for index in (1, 2, 0)
    ]
    mutants["decoder-order"] = [partial(decoder_block, cross_first=True)]
    mutants["cross-stale-query"] = [partial(decoder_block, stale_query=True)]
    mutants["cross-ignores-memory"] = [partial(decoder_block, own_memory=True)]
    mutants["mask-inverted"] = [_inverted_memory, *mutants["mask-inverted"]]
    mutants["mask-by-position"] = [
        lambda weights, n_heads, x, memory, allowed: decoder_block(
            weights, n_heads, x, memory, _by_count(allowed)
        )
    ]
    return mutants


def _one_mask(
    weights: BlockWeights, n_heads: int, x: Tensor, memory: Tensor, allowed: Tensor | None
) -> Tensor:
    """No causal mask where the memory has one."""
    recipe = RIGHT if allowed is None else Recipe(self_attention=_unmasked)
    return decoder_block(weights, n_heads, x, memory, allowed, recipe)


def _inverted_memory(
    weights: BlockWeights, n_heads: int, x: Tensor, memory: Tensor, allowed: Tensor | None
) -> Tensor:
    return decoder_block(weights, n_heads, x, memory, None if allowed is None else ~allowed)


ENCODER_MUTANTS: Mapping[str, list[EncoderMutant]] = _encoder_mutants()
DECODER_MUTANTS: Mapping[str, list[DecoderMutant]] = _decoder_mutants()


# Mistakes of an attention that are looked for beside another mistake of the block.
PAIRED_ATTENTIONS = (
    "scale-missing",
    "scale-d_k",
    "scale-d_model",
    "softmax-over-queries",
    "heads-view-without-transpose",
    "heads-merge-without-transpose",
    "heads-single",
    "output-projection-missing",
    "mask-after-softmax",
    "mask-fill-zero",
)


def _recipe_pairs(count: int) -> Iterator[tuple[str, Recipe]]:
    """Two mistakes of a block at once, each everywhere; their ids joined by "+"."""
    joins: dict[str, AddNorm] = {
        "norm-pre": _pre_norm,
        "norm-of-sublayer": _norm_of_sublayer,
        "norm-missing": _norm_missing,
        "residual-missing": _residual_missing,
        "residual-of-normalised": _residual_of_normalised,
    }
    singles: list[tuple[str, dict[str, Any]]] = [
        (name, {"activation": recipe.activation, "norm": recipe.norm})
        for name, found in _parts(count).items()
        for recipe in found
        if recipe.add_norms == RIGHT.add_norms and recipe.norms == RIGHT.norms
    ]
    attentions: list[tuple[str, dict[str, Any]]] = [
        (name, {"self_attention": ATTENTIONS[name][0], "cross_attention": ATTENTIONS[name][0]})
        for name in PAIRED_ATTENTIONS
    ]
    own = (
        ("padding-mask-not-passed", _unmasked),
        (("encoder-causal", _causal) if count == 2 else ("decoder-not-causal", _unmasked)),
    )
    attentions += [(name, {"self_attention": attend}) for name, attend in own]
    for name, attend in LAYER_PAIRS:
        if set(name.split("+")) <= set(PAIRED_ATTENTIONS):
            yield name, replace(RIGHT, self_attention=attend, cross_attention=attend)
    for name, join in joins.items():
        for second, steps in (*singles, *attentions):
            yield f"{name}+{second}", replace(RIGHT, add_norms=(join, join, join), **steps)
        for once in _everywhere_or_once(join, count)[1:]:
            for second, steps in singles:
                yield f"{name}+{second}", replace(once, **steps)
    for first, steps in singles:
        for second, others in attentions:
            yield f"{first}+{second}", replace(RIGHT, **{**steps, **others})


ENCODER_PAIRS: tuple[tuple[str, EncoderMutant], ...] = tuple(
    (name, partial(encoder_block, recipe=recipe)) for name, recipe in _recipe_pairs(2)
)
DECODER_PAIRS: tuple[tuple[str, DecoderMutant], ...] = tuple(
    (name, partial(decoder_block, recipe=recipe)) for name, recipe in _recipe_pairs(3)
)
