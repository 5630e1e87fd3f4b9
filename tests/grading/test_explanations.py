"""What a failed value check tells: the steps that were taken, the line, and code that shows it."""

import json
import re
import subprocess
import sys

import pytest

from tests.conftest import RIGHT

SCALED = "    scores = scores / math.sqrt(query.shape[-1])\n"
SOFTMAX = "torch.softmax(scores, dim=-1)"
MERGE = "    x = x.transpose(1, 2)  # (B, T, H, d_k)\n"


def row(report, name):
    return next(check for check in report.code() if check.id == name)


def line_of(text, part):
    return text[: text.index(part)].count("\n") + 1


def changed(old, new, text=RIGHT):
    assert text.count(old) == 1
    return text.replace(old, new)


@pytest.fixture
def wrong_softmax():
    return changed(SOFTMAX, "torch.softmax(scores, dim=-2)")


def test_the_steps_of_an_attention_are_told_with_their_lines(grade_text, wrong_softmax):
    check = row(grade_text(wrong_softmax), "attention_values")
    scores = line_of(wrong_softmax, "scores = query @")
    assert f"✓ QKᵀ: line {scores}" in check.message
    assert f"✓ divided by √d_k: line {scores + 1}" in check.message
    assert "✗ softmax over the keys: not found" in check.message


def test_the_place_is_the_line_that_leaves_the_recipe(grade_text, wrong_softmax):
    check = row(grade_text(wrong_softmax), "attention_values")
    assert check.location.line == line_of(wrong_softmax, "torch.softmax")


def test_einsum_helpers_and_loops_are_traced_too(grade_text):
    text = changed(
        "    scores = query @ key.transpose(-2, -1)  # (..., T_q, T_k)\n" + SCALED,
        "    scores = _scores(query, key)\n",
    )
    text = changed(
        "    return weights @ value, weights", "    return _mix(weights, value), weights", text
    )
    text = changed(SOFTMAX, "scores", text)
    text += """

def _scores(query, key):
    return torch.einsum("...qd,...kd->...qk", query / math.sqrt(query.shape[-1]), key)


def _mix(weights, value):
    rows = [sum(w[..., None] * v for w, v in zip(weights[..., t, :].unbind(-1), value.unbind(-2)))
            for t in range(weights.shape[-2])]
    return torch.stack(rows, dim=-2)
"""
    check = row(grade_text(text), "attention_values")
    assert "✓ QKᵀ: together with a later step" in check.message
    assert f"✓ divided by √d_k: line {line_of(text, 'torch.einsum')}" in check.message
    assert "✗ softmax over the keys" in check.message


def test_in_a_notebook_a_step_has_its_cell_and_line(grade_text, wrong_softmax):
    cells = [
        {
            "cell_type": "code",
            "source": source,
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
        for source in ("# a first cell\n", wrong_softmax)
    ]
    book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    check = row(grade_text(json.dumps(book), "work.ipynb"), "attention_values")
    line = line_of(wrong_softmax, "scores = query @")
    assert f"✓ QKᵀ: cell 2, line {line}" in check.message
    assert check.location.cell == 2
    assert "import scaled_dot_product_attention" not in check.message


def test_right_steps_whose_result_is_not_returned_are_told_from_wrong_ones(grade_text):
    text = changed("return weights @ value, weights", "return 0 * (weights @ value), weights")
    assert "what is returned is something else" in row(grade_text(text), "attention_values").message


def test_a_layer_and_its_heads_are_traced(grade_text):
    text = changed(MERGE, "")
    check = row(grade_text(text), "layer_known_weights")
    assert "✓ weights × V" in check.message
    assert "✗ heads merged: not found" in check.message
    assert check.location.line == line_of(text, "return x.reshape(batch, length, n_heads * d_k)")


@pytest.mark.parametrize(
    ("old", "new", "check"),
    [
        (SCALED, "", "attention_values"),
        (SOFTMAX, "torch.softmax(scores, dim=-2)", "attention_values"),
        ("mask == 0", "mask != 0", "causal_mask_hides_the_future"),
        (MERGE, "", "layer_known_weights"),
    ],
)
def test_the_smallest_input_is_code_that_gives_what_the_report_says(
    grade_text, tmp_path, old, new, check
):
    text = changed(old, new)
    found = row(grade_text(text), check)
    code = found.message.partition("For:\n")[2].partition("\nSteps of the recipe")[0]
    (tmp_path / "submission.py").write_text(text)
    lines = code.splitlines()
    assert lines[-1].startswith("print(")
    lines[-1] = f"output = {lines[-1][6:-1]}"
    lines.append("print(((output[0] if isinstance(output, tuple) else output)).tolist())")
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    printed = [float(number) for number in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", done.stdout)]
    told = [float(number) for number in re.findall(r"-?\d+\.\d+", found.got)]
    assert printed == pytest.approx(told, abs=1e-3)
    assert found.expected != found.got


def test_the_smallest_input_is_small(grade_text):
    found = row(grade_text(changed(SCALED, "")), "attention_values")
    inputs = re.findall(r"(\w+) = torch\.tensor\((.*)\)", found.message)
    numbers = {name: len(re.findall(r"-?\d+\.\d+", text)) for name, text in inputs}
    assert numbers == {"query": 2, "key": 4, "value": 2}  # d_k = 1 and one key hide a scale


def test_a_failed_check_earns_by_its_steps_where_the_rubric_says_so(grade_text):
    late = row(grade_text(changed(MERGE, "")), "layer_known_weights")
    early = row(grade_text(changed(SCALED, "")), "layer_known_weights")
    assert 0 < early.score < late.score <= late.max_score / 2
    never = row(grade_text(changed(SCALED, "")), "attention_values")
    assert never.score == 0


@pytest.mark.parametrize(
    ("changes", "check", "first", "second"),
    [
        ([(SCALED, ""), (SOFTMAX, "torch.softmax(scores, dim=-2)")], "attention_values",
         "scale-missing", "softmax-over-queries"),
        ([(SCALED, ""), ("(mask == 0, -math.inf)", "(mask == 0, 0.0)")],
         "causal_mask_hides_the_future", "scale-missing", "mask-fill-zero"),
        ([(MERGE, ""), (SCALED, "")], "layer_known_weights",
         "heads-merge-without-transpose", "scale-missing"),
    ],
)  # fmt: skip
def test_two_mistakes_at_once_are_both_named(grade_text, changes, check, first, second):
    text = RIGHT
    for old, new in changes:
        text = changed(old, new, text)
    found = row(grade_text(text), check)
    assert "Two mistakes at once" in found.message
    assert f"({first})" in found.message
    assert f"({second})" in found.message
    assert found.misconception in (first, second)


def test_layers_that_make_their_parameters_at_the_first_call_are_right(grade_text):
    text = RIGHT
    for name in "qkvo":
        text = changed(
            f"self.w_{name} = nn.Linear(d_model, d_model, bias=bias)",
            f"self.w_{name} = nn.LazyLinear(d_model, bias=bias)",
            text,
        )
    assert grade_text(text).code_is_right


def test_an_attention_for_four_dimensions_only_loses_the_check_of_dimensions(grade_text):
    text = changed("    scores = query @", "    assert query.dim() == 4\n    scores = query @")
    report = grade_text(text)
    lost = {c.id for c in report.code() if c.status not in ("passed", "blocked")}
    assert lost == {"attention_in_any_dimensions"}
