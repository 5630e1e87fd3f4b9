"""The catalogue of mutants: every misconception has one, and each is a small change that fits."""

import ast

import pytest
import torch

from reference import attention, scaled_dot_product_attention
from reference.misconceptions import SENTENCES
from reference.misconceptions.mutants import MUTANTS, Change, Mutant, mutants_of, submission_files
from reference.misconceptions.mutants.pairs import PAIRS
from reference.misconceptions.mutants.source import MODULE, apply, both

ASSIGNMENTS = {
    "multi_head_attention": [
        "split_heads",
        "merge_heads",
        "scaled_dot_product_attention",
        "MultiHeadAttention",
    ],
    "encoder_classifier": [
        "sinusoidal_positional_encoding",
        "padding_mask",
        "EncoderBlock",
        "TransformerEncoder",
        "TransformerEncoderClassifier",
        "parameter_groups",
        "warmup_cosine",
        "train",
    ],
    "transformer_review": [
        "scaled_dot_product_attention",
        "MultiHeadAttention",
        "EncoderBlock",
        "causal_mask",
        "DecoderBlock",
        "sinusoidal_positional_encoding",
        "PixelBERT",
        "mean_aggregate",
    ],
}
MADE = [(mutant, assignment) for mutant in MUTANTS for assignment in mutant.assignments]


def names(made):
    return [f"{mutant.name} in {assignment}" for mutant, assignment in made]


def test_every_misconception_has_a_sentence_and_a_mutant():
    wrong = {name for mutant in MUTANTS if not mutant.right for name in mutant.ids}
    assert wrong == SENTENCES.keys()


def test_what_counts_as_a_right_diagnosis_has_a_sentence():
    assert {name for mutant in MUTANTS for name in mutant.also} <= SENTENCES.keys()


def test_no_two_mutants_have_the_same_name():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_mutants_belong_to_assignments_that_there_are():
    assert {a for mutant in MUTANTS for a in mutant.assignments} == ASSIGNMENTS.keys()


@pytest.mark.parametrize(("mutant", "assignment"), MADE, ids=names(MADE))
def test_its_changes_fit_the_reference_and_leave_it_python(mutant, assignment):
    right = submission_files(assignment, ASSIGNMENTS[assignment])
    wrong = submission_files(assignment, ASSIGNMENTS[assignment], mutant)
    assert wrong.keys() == right.keys()
    changed = {path for path, source in wrong.items() if source != right[path]}
    named = {assignment if c.file == MODULE else c.file for c in mutant.changes}
    assert changed == {f"{name}.py" for name in named}
    for path in changed:
        ast.parse(wrong[path])


@pytest.mark.parametrize("mutant", [m for m in MUTANTS if "+" not in m.name], ids=lambda m: m.name)
def test_it_is_a_small_change(mutant):
    assert 1 <= mutant.lines <= 8


def test_pairs_are_made_of_two_mutants():
    assert len(PAIRS) >= 12
    by_name = {mutant.name: mutant for mutant in MUTANTS}
    for first, second in PAIRS:
        pair = by_name[f"{first}+{second}"]
        assert pair.changes == by_name[first].changes + by_name[second].changes
        assert pair.assignments


def test_the_ids_of_a_variant_and_of_a_pair():
    change = Change("masks", ".tril()", ".triu()")
    one = Mutant("mask-inverted/causal", ("a", "b"), (change,), also=("mask-ignored",))
    other = Mutant("pe-base", ("b",), (Change("positional", "10_000", "100"),))
    assert one.ids == ("mask-inverted",)
    assert one.expected == {"mask-inverted", "mask-ignored"}
    pair = both(one, other)
    assert pair.ids == ("mask-inverted", "pe-base")
    assert pair.assignments == ("b",)
    assert pair.expected == {"mask-inverted", "mask-ignored", "pe-base"}


def test_a_submission_is_the_reference_and_nothing_of_its_package():
    files = submission_files("multi_head_attention", ASSIGNMENTS["multi_head_attention"])
    assert files.keys() == {"multi_head_attention.py", "attention.py"}
    assert all(b"reference" not in source for source in files.values())
    namespace = {}
    exec(files["attention.py"], namespace)
    query, key, value = torch.randn(3, 4), torch.randn(5, 4), torch.randn(5, 2)
    for ours, right in zip(
        namespace["scaled_dot_product_attention"](query, key, value),
        scaled_dot_product_attention(query, key, value),
        strict=True,
    ):
        torch.testing.assert_close(ours, right)
    assert attention.__name__ == "reference.attention"


def test_a_submission_holds_what_its_definitions_need():
    files = submission_files("encoder_classifier", ASSIGNMENTS["encoder_classifier"])
    assert {"attention.py", "masks.py", "encoder.py", "classifier.py"} <= files.keys()
    assert "decoder.py" not in files


def test_a_change_that_no_longer_fits_is_told():
    with pytest.raises(ValueError, match="0 times 'scale'"):
        apply("text", [Change("attention", "scale", "")])
    with pytest.raises(ValueError, match="2 times"):
        apply("text text", [Change("attention", "text", "")])
    with pytest.raises(ValueError, match="overlap"):
        apply("a text", [Change("attention", "a t", ""), Change("attention", "text", "b")])
    mutant = Mutant("graph-sum", ("multi_head_attention",), (Change("graph", "taken", ""),))
    with pytest.raises(ValueError, match="graph: no part of this submission"):
        submission_files("multi_head_attention", ["split_heads"], mutant)


def test_changes_are_found_in_the_source_as_it_was():
    swapped = apply("one two", [Change("x", "one", "two"), Change("x", "two", "one")])
    assert swapped == "two one"


def test_mutants_of_an_assignment():
    assert {m.name for m in mutants_of("multi_head_attention")} >= {"scale-missing", "heads-single"}
    assert "pe-base" not in {m.name for m in mutants_of("multi_head_attention")}
    assert mutants_of("nonsense") == []
