"""A submission whose masks mean the opposite is told so wherever a mask is what fails."""

import pytest

from grader.assignment import load_assignment
from grader.grading import Grader
from tests.conftest import ROOT

ATTENTION = "Your mask means True = ignore; this assignment's means True = may attend."
PADDING = "Your padding mask means True = valid; this assignment's means True = ignore."


@pytest.fixture
def failures(launcher):
    """The checks that fail, with misconception and message."""

    def grade(assignment, text):
        report = Grader(load_assignment(assignment), launcher).grade({"a.py": text.encode()}, "a")
        return {c.id: c for c in report.code() if c.status == "failed"}

    return grade


@pytest.mark.parametrize("fill", ["-math.inf", "-1e9"])
def test_in_function_and_layer(failures, right, fill):
    inverted = right.replace("mask == 0, -math.inf", f"mask != 0, {fill}")
    rows = failures("multi_head_attention", inverted)
    assert rows.keys() >= {
        "causal_mask_hides_the_future", "layer_known_weights", "layer_causal_mask",
        "layer_padding_mask",
    }  # fmt: skip
    for row in rows.values():
        assert row.misconception == "mask-inverted", row.id
        assert ATTENTION in row.message


def test_in_masks_of_floats(failures, right):
    inverted = right.replace("mask == 0, -math.inf", "mask.float() == 1.0, -math.inf")
    row = failures("multi_head_attention", inverted)["layer_padding_mask"]
    assert row.misconception == "mask-inverted"


def test_in_blocks(failures):
    text = (ROOT / "examples/transformer_review/right_own_layers.py").read_text()
    inverted = text.replace("return ~key_padding_mask", "return key_padding_mask")
    assert inverted != text
    rows = failures("transformer_review", inverted)
    named = {row.id for row in rows.values() if row.misconception == "mask-inverted"}
    assert named == {
        "block_known_weights", "block_ignores_padded_keys", "block_without_padding",
        "decoder_known_weights", "decoder_memory_padding",
    }  # fmt: skip
    assert all(PADDING in rows[name].message for name in named)
    assert {row.misconception for row in rows.values()} <= {"mask-inverted", None}


def test_in_a_whole_classifier(failures):
    path = ROOT / "examples/encoder_classifier/wrong_padding_mask_inverted.py"
    rows = failures("encoder_classifier", path.read_text())
    assert len(rows) == 6
    for row in rows.values():
        assert row.misconception == "mask-inverted", row.id
        assert PADDING in row.message


def test_a_mask_that_is_ignored_is_not_taken_for_an_inverted_one(failures, right):
    ignored = right.replace("if mask is not None:", "if False:")
    rows = failures("multi_head_attention", ignored)
    assert rows
    assert "mask-inverted" not in {row.misconception for row in rows.values()}
