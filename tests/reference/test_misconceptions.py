"""Each mutant is wrong, in the way that its id says, and has a sentence."""

import pytest
import torch

from reference import merge_heads, scaled_dot_product_attention, split_heads
from reference.misconceptions import (
    ATTENTION_MUTANTS,
    LAYER_MUTANTS,
    MERGE_MUTANTS,
    SENTENCES,
    SPLIT_MUTANTS,
)
from reference.misconceptions.attention import attention
from reference.misconceptions.layer import layer


def inputs():
    torch.manual_seed(0)
    query, key, value = torch.randn(2, 3, 5, 6), torch.randn(2, 3, 5, 6), torch.randn(2, 3, 5, 6)
    query[0, 0, 0] = 0.0  # scores that are 0
    return query, key, value, torch.ones(5, 5).tril()


def test_the_recipe_without_a_change_is_the_reference():
    query, key, value, mask = inputs()
    for chosen in (None, mask):
        ours = attention(query, key, value, chosen)
        right = scaled_dot_product_attention(query, key, value, chosen)
        torch.testing.assert_close(ours, right)


@pytest.mark.parametrize("name", ATTENTION_MUTANTS)
def test_attention_mutant_differs_from_the_reference(name):
    query, key, value, mask = inputs()
    mutant = ATTENTION_MUTANTS[name]
    differs = [
        not torch.allclose(
            mutant(query, key, value, chosen)[0],
            scaled_dot_product_attention(query, key, value, chosen)[0],
            atol=1e-3,
        )
        for chosen in (None, mask)
    ]
    assert any(differs)


@pytest.mark.parametrize("name", LAYER_MUTANTS)
def test_layer_mutant_differs_from_the_reference(name):
    torch.manual_seed(1)
    weights = {role: torch.randn(6, 6) / 3 for role in "qkvo"}
    weights |= {f"b{role}": torch.randn(6) for role in "qkvo"}
    query, key, value = torch.randn(2, 5, 6), torch.randn(2, 5, 6), torch.randn(2, 5, 6)
    weights["bq"] *= 0
    query[0, 2] = 0.0  # scores that are 0
    same = []
    for mask in (None, torch.ones(5, 5).tril()):
        wrong = LAYER_MUTANTS[name](weights, 2, query, key, value, mask)
        right = layer(weights, 2, query, key, value, mask)
        same += [
            a.shape == b.shape and torch.allclose(a, b) for a, b in zip(wrong, right, strict=True)
        ]
    assert not all(same)


def test_head_mutants_keep_the_shape_and_lose_the_place():
    x = torch.arange(24.0).view(1, 3, 8)
    for mutant in SPLIT_MUTANTS.values():
        assert mutant(x, 2).shape == split_heads(x, 2).shape
        assert not torch.equal(mutant(x, 2), split_heads(x, 2))
    heads = torch.arange(24.0).view(1, 2, 3, 4)
    for mutant in MERGE_MUTANTS.values():
        assert mutant(heads).shape == merge_heads(heads).shape
        assert not torch.equal(mutant(heads), merge_heads(heads))


def test_every_mutant_has_a_sentence():
    mutants = ATTENTION_MUTANTS | SPLIT_MUTANTS | MERGE_MUTANTS | LAYER_MUTANTS
    assert mutants.keys() <= SENTENCES.keys()
