"""The grading function: one row a check in every case, dependencies, limits, the same again."""

import json

import pytest

from grader.grading import Grader, grade
from grader.report import read_report
from grader.worker.client import SpawnLauncher
from tests.conftest import failing

HANGS = "\ndef split_heads(x, n_heads):\n    while True:\n        pass\n"


def test_the_same_submission_gets_the_same_report_to_the_letter(grade_text, right):
    wrong = right.replace("scores / math.sqrt(query.shape[-1])", "scores")
    first, second = grade_text(wrong), grade_text(wrong)
    assert first.score < first.max_score
    assert first.model_copy(update={"seconds": 0}) == second.model_copy(update={"seconds": 0})


@pytest.mark.parametrize("body", ["return (x for x in 'ab')", "raise ValueError(f'{object()}')"])
def test_no_place_in_memory_stands_in_a_report(grade_text, right, body):
    define = "\n\ndef scaled_dot_product_attention(query, key, value, mask=None):\n    "
    first, second = grade_text(right + define + body), grade_text(right + define + body)
    assert first.model_copy(update={"seconds": 0}) == second.model_copy(update={"seconds": 0})
    assert "0x" not in first.to_json()
    assert "object" in first.to_json()


def test_a_report_goes_through_json_unchanged(grade_text, right):
    report = grade_text(right.replace("dim=-1)  # over the keys", "dim=-2)"))
    assert read_report(report.to_json()) == report
    data = json.loads(report.to_json())
    assert set(data) == {
        "schema", "submission", "digest", "assignment", "status", "score", "max_score",
        "milestones", "findings", "environment", "seconds",
    }  # fmt: skip
    assert set(data["milestones"][0]) == {"id", "title", "score", "max_score", "checks"}
    assert set(data["milestones"][0]["checks"][0]) == {
        "id", "title", "status", "score", "max_score", "hidden", "message", "expected", "got",
        "misconception", "hint", "lesson", "location",
    }  # fmt: skip
    assert data["schema"] == "transformer-grader/report/1"
    ids = [milestone["id"] for milestone in data["milestones"]]
    assert ids == ["projections", "heads", "attention", "layer", "questions"]


def test_a_misspelt_definition_is_told_once_with_its_place(grade_text, right):
    text = right.replace("class MultiHeadAttention", "class MultiheadAttention")
    report = grade_text(text)
    rows = {check.id: check for check in report.checks()}
    assert rows["builds"].message == (
        "Found `MultiheadAttention`; the assignment's name is `MultiHeadAttention`."
    )
    assert rows["builds"].misconception == "name-misspelt"
    assert text.splitlines()[rows["builds"].location.line - 1].startswith("class Multihead")
    assert rows["layer_shapes"].status == "blocked"
    assert sum(row.status == "failed" for row in rows.values()) == 1
    assert rows["attention_values"].status == "passed"


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("MultiHeadAttention", "MultiHeadedAttention"),
        ("scaled_dot_product_attention", "attention"),
        ("split_heads", "split_into_heads"),
        ("merge_heads", "combine_heads"),
    ],
)
def test_a_definition_under_a_usual_other_name_is_graded_in_full_and_noted(
    grade_text, right, name, other
):
    text = right.replace(f"{name}(", f"{other}(")
    report = grade_text(text)
    assert report.code_is_right
    (finding,) = report.findings
    assert finding.kind == "note"
    assert finding.message == f"Found `{other}`; the assignment's name is `{name}`."
    assert f"{other}(" in text.splitlines()[finding.location.line - 1]


def test_another_name_counts_as_missing_where_the_rubric_says_that_it_costs(
    assignment, launcher, right
):
    strict = assignment.model_copy(update={"other_names": "costs"})
    text = right.replace("class MultiHeadAttention", "class MHA")
    report = Grader(strict, launcher).grade({"a.py": text.encode()}, "a")
    row = report.checks()[0]
    assert (row.status, row.misconception) == ("failed", "name-misspelt")
    assert row.message == "Found `MHA`; the assignment's name is `MultiHeadAttention`."
    assert report.findings == ()


def test_a_failure_of_a_definition_under_another_name_points_to_it(grade_text, right):
    text = right.replace("MultiHeadAttention(", "MHA(").replace("(heads)), weights", "(heads))")
    row = next(check for check in grade_text(text).checks() if check.id == "layer_weights")
    assert row.status == "failed"
    assert "def forward" in text.splitlines()[row.location.line - 1]


def test_a_disallowed_call_under_another_name_refuses_it(grade_text, right):
    own = "\nclass MHA(nn.MultiheadAttention):\n    pass\n"
    report = grade_text(right.split("class MultiHeadAttention")[0] + own)
    row = report.checks()[0]
    assert (row.status, row.misconception) == ("refused", "disallowed-module")
    assert "`MHA` uses `torch.nn.MultiheadAttention`" in row.message
    assert "`MHA` uses it" in report.findings[0].message


def test_a_class_in_place_of_a_function_is_told_to_be_one(grade_text, right):
    text = right.replace("def scaled_dot_product_attention", "def apply_attention")
    text += "\nclass ScaledDotProductAttention(nn.Module):\n    pass\n"
    row = next(c for c in grade_text(text).checks() if c.id == "attention_values")
    assert row.misconception == "name-misspelt"
    assert "Found `ScaledDotProductAttention`" in row.message
    assert "it asks for a function" in row.message


LAYER = "\nclass MultiHeadAttention(MultiHeadAttention):\n"
UNFIT = {
    "a constructor's surplus": (
        LAYER + "    def __init__(self, d_model, n_heads, dropout): pass\n",
        "builds",
        "`MultiHeadAttention.__init__` requires `dropout`, which the assignment does not pass: "
        "give it a default.",
    ),
    "a module's lack": (
        LAYER + "    def forward(self, query, key): return super().forward(query, key, key)\n",
        "layer_shapes",
        "`MultiHeadAttention.forward` takes no argument for `value`.",
    ),
    "a function's surplus": (
        "\nsplit = split_heads\ndef split_heads(x, batch, n_heads): return split(x, n_heads)\n",
        "split_heads_places_features",
        "`split_heads` requires `batch`, which the assignment does not pass: give it a default.",
    ),
    "a function's lack": (
        "\nf = scaled_dot_product_attention\n"
        "def scaled_dot_product_attention(q, k, v): return f(q, k, v)\n",
        "causal_mask_hides_the_future",
        "`scaled_dot_product_attention` takes no argument for `mask`.",
    ),
}


@pytest.mark.parametrize(("code", "check", "message"), UNFIT.values(), ids=UNFIT)
def test_arguments_that_do_not_fit_are_told_by_name_with_the_line_of_the_def(
    grade_text, right, code, check, message
):
    text = right + code
    row = next(c for c in grade_text(text).checks() if c.id == check)
    assert (row.status, row.misconception) == ("failed", "wrong-signature")
    assert row.message == message
    called = message.split("`")[1].split(".")[-1]
    assert f"def {called}(" in text.splitlines()[row.location.line - 1]
    assert row.location.line > right.count("\n")


SWAPPED = LAYER + "    def __init__(self, h, dim): super().__init__(dim, h)\n"
KEYS_FIRST = LAYER + (
    "    def forward(self, keys, values, queries, mask=None):\n"
    "        return super().forward(queries, keys, values, mask)\n"
)


@pytest.mark.parametrize(
    ("code", "check", "start"),
    [
        (SWAPPED, "builds", "`MultiHeadAttention.__init__` takes its arguments in the order "
         "(h, dim); the assignment's order is (d_model, n_heads). It raised ValueError"),
        (KEYS_FIRST, "cross_attention", "`MultiHeadAttention.forward` takes its arguments in "
         "the order (keys, values, queries, mask); the assignment's order is (query, key, value, "
         "mask)."),
    ],
    ids=["constructor", "forward"],
)  # fmt: skip
def test_arguments_in_another_order_are_named_where_a_check_fails_for_no_other_reason(
    grade_text, right, code, check, start
):
    row = next(c for c in grade_text(right + code).checks() if c.id == check)
    assert row.misconception == "wrong-signature"
    assert row.message.startswith(start)


@pytest.mark.parametrize("code", [SWAPPED, KEYS_FIRST], ids=["constructor", "forward"])
def test_where_the_rubric_leaves_the_order_free_names_decide_and_it_is_noted(
    assignment, launcher, right, code
):
    free = assignment.model_copy(update={"argument_order": "free"})
    report = Grader(free, launcher).grade({"a.py": (right + code).encode()}, "a")
    assert report.code_is_right
    (finding,) = report.findings
    assert finding.message.endswith("takes its arguments in another order: bound by name.")
    assert finding.location.line == right.count("\n") + 3


def test_where_the_order_is_free_what_has_no_known_name_goes_by_position(
    assignment, launcher, right
):
    free = assignment.model_copy(update={"argument_order": "free"})
    text = right.replace("n_heads", "count").replace("query", "a").replace("key", "b")
    assert Grader(free, launcher).grade({"a.py": text.encode()}, "a").code_is_right


RESULT = """
from dataclasses import dataclass
from types import SimpleNamespace
from collections import namedtuple

@dataclass
class Result:
    attn: object
    out: object

Pair = namedtuple("Pair", "output weights")
attend_ = scaled_dot_product_attention
def scaled_dot_product_attention(query, key, value, mask=None):
    o, w = attend_(query, key, value, mask)
    return {}

class MultiHeadAttention(MultiHeadAttention):
    def forward(self, query, key, value, mask=None):
        q = split_heads(self.w_q(query), self.n_heads)
        k = split_heads(self.w_k(key), self.n_heads)
        v = split_heads(self.w_v(value), self.n_heads)
        heads, w = attend_(q, k, v, mask)
        o = self.w_o(merge_heads(heads))
        return {}
"""
RETURNS = {
    "w, o": "(weights, output); the assignment's order is (output, weights).",
    "[o, w]": "a list; the assignment asks for the tuple (output, weights).",
    "dict(out=o, attn=w)": "a dict; the assignment asks for the tuple (output, weights).",
    "Result(w, o)": "`Result`; the assignment asks for the tuple (output, weights).",
    "SimpleNamespace(attn=w, context=o)": "`SimpleNamespace`; the assignment asks for the tuple "
    "(output, weights).",
    "Pair(o, w)": None,
}


@pytest.mark.parametrize(("returned", "form"), RETURNS.items(), ids=RETURNS)
def test_attention_may_return_output_and_weights_in_any_form_which_is_noted_once(
    grade_text, right, returned, form
):
    report = grade_text(right + RESULT.replace("{}", returned))
    assert failing(report) == {}
    names = ("scaled_dot_product_attention", "MultiHeadAttention")
    expected = [f"`{name}` returns {form}" for name in names] if form else []
    notes = [finding for finding in report.findings if finding.kind == "note"]
    assert [note.message for note in notes] == expected
    assert all(note.location.line > right.count("\n") for note in notes)


def test_a_stub_blocks_only_what_needs_it(grade_text, right):
    stub = "\ndef merge_heads(x):\n    raise NotImplementedError\n"
    report = grade_text(right + stub)
    missed = failing(report)
    assert missed["merge_heads_places_features"] == "failed"
    assert missed["merge_heads_undoes_split_heads"] == "blocked"
    assert {m.id for m in report.milestones if m.score == m.max_score} == {
        "projections",
        "attention",
    }


def test_code_that_never_ends_costs_its_own_checks_and_not_their_sum_in_time(
    assignment, launcher, right
):
    limits = assignment.limits.model_copy(update={"call_seconds": 0.5})
    quick = assignment.model_copy(update={"limits": limits})
    layer = right.replace("split_heads(self", "_split(self").replace(
        "def split_heads", "def _split"
    )
    report = Grader(quick, launcher).grade({"a.py": (layer + HANGS).encode()}, "a")
    missed = failing(report)
    assert missed["split_heads_places_features"] == "timed_out"
    assert {m.id for m in report.milestones if m.score == m.max_score} >= {"attention", "layer"}
    assert report.seconds < 20


def test_the_submissions_whole_time_is_limited(assignment, launcher, right):
    limits = assignment.limits.model_copy(update={"submission_seconds": 0.01})
    quick = assignment.model_copy(update={"limits": limits})
    report = Grader(quick, launcher).grade({"a.py": right.encode()}, "a")
    assert report.score == 0
    assert "timed_out" in failing(report).values()


def test_an_endless_import_is_one_time_out_and_the_rest_is_blocked(assignment, launcher, right):
    limits = assignment.limits.model_copy(update={"load_seconds": 0.5})
    quick = assignment.model_copy(update={"limits": limits})
    endless = "\n\ndef forever(f):\n    while True:\n        pass\n\n\n@forever\ndef "
    data = right.replace("\ndef ", endless, 1).encode()
    report = Grader(quick, launcher).grade({"a.py": data}, "a")
    statuses = list(failing(report).values())
    assert statuses.count("timed_out") == 1
    assert set(statuses) == {"timed_out", "blocked"}


def test_an_error_at_top_level_is_noted_and_what_was_defined_is_graded(grade_text, right):
    needed = "\nclass Data:\n    text = open('no such file')\n\nprint(text)\n"
    report = grade_text(right + needed)
    assert report.code_is_right
    left_out, raised = report.findings
    assert (
        left_out.message
        == f"Not run, since nothing that is graded needs it: line {right.count(chr(10)) + 5}."
    )
    assert "FileNotFoundError" in raised.message
    assert raised.location.line == right.count("\n") + 3


def test_a_failure_points_to_the_line(grade_text, right):
    report = grade_text(right.replace("return self.w_o(", "return self.w_nothing("))
    row = next(check for check in report.checks() if check.id == "layer_shapes")
    assert row.status == "raised"
    assert (
        "w_nothing"
        in right.replace("self.w_o(", "self.w_nothing(").splitlines()[row.location.line - 1]
    )


def test_a_failure_in_a_notebook_points_to_cell_and_line(grade_text, right):
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "# title"},
        {
            "cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None,
            "source": right,
        },
        {
            "cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None,
            "source": "def merge_heads(x):\n    return x.undefined\n",
        },
    ]  # fmt: skip
    notebook = {"nbformat": 4, "nbformat_minor": 2, "metadata": {}, "cells": cells}
    report = grade_text(json.dumps(notebook), "a.ipynb")
    row = next(c for c in report.checks() if c.id == "merge_heads_places_features")
    assert (row.location.cell, row.location.line) == (3, 2)


def test_a_disallowed_library_call_refuses_the_definition_that_uses_it(grade_text, right):
    own = right.replace(
        "    scores = query",
        "    attend = torch.nn.functional.scaled_dot_product_attention\n"
        "    return attend(query, key, value, mask), None\n"
        "    scores = query",
    )
    report = grade_text(own)
    attention = next(m for m in report.milestones if m.id == "attention")
    assert attention.score == 0
    assert attention.checks[0].status == "refused"
    assert attention.checks[0].misconception == "disallowed-module"
    finding = report.findings[0]
    assert finding.kind == "disallowed"
    assert "scaled_dot_product_attention" in own.splitlines()[finding.location.line - 1]


def test_a_draft_beside_the_work_costs_nothing(grade_text, right):
    draft = "from torch import nn\nclass MultiHeadAttention(nn.MultiheadAttention): pass\n"
    assert grade_text({"multi_head_attention.py": right, "draft.py": draft}).code_is_right


def test_a_syntax_error_in_the_work_is_told_and_not_the_template_beside_it(grade_text, right):
    stubs = "def split_heads(x, n_heads):\n    raise NotImplementedError\n"
    report = grade_text({"mine.py": right + "\n)\n", "multi_head_attention.py": stubs})
    assert report.status == "refused"
    assert report.findings[0].location.file == "mine.py"
    assert "is not valid Python" in report.findings[0].message


def test_a_failing_import_is_named_as_the_reason(grade_text, right):
    report = grade_text(
        "from no_such_module import attention\n"
        + right.replace(
            "heads, weights = scaled_dot_product_attention(", "heads, weights = attention("
        )
    )
    missed = failing(report)
    assert missed["layer_shapes"] == "review"
    row = next(check for check in report.checks() if check.id == "layer_shapes")
    assert (
        row.message
        == "It needs `no_such_module`, which is not installed here and was not handed in."
    )
    assert row.misconception is None
    assert {m.id for m in report.milestones if m.score == m.max_score} >= {"heads", "attention"}


def test_an_import_that_nothing_needs_costs_nothing(grade_text, right):
    report = grade_text("import no_such_module as nothing\n" + right + "\nnothing.plot(3)\n")
    assert report.code_is_right
    assert "Imported, but not installed here (nor handed in): no_such_module." in [
        f.message for f in report.findings
    ]


def test_one_exception_is_explained_once_with_the_call_that_raised(grade_text, right):
    report = grade_text(right.replace("math.sqrt(query.shape[-1])", "undefined"))
    raised = [check for check in report.checks() if check.status == "raised"]
    assert len(raised) == 1
    assert "name 'undefined' is not defined" in raised[0].message
    assert "query of shape (1, 1, 2, 5)" in raised[0].message
    blocked = [check for check in report.checks() if check.status == "blocked"]
    assert any("same reason as `attention_values`" in check.message for check in blocked)


def test_a_failure_points_to_the_module_that_defines_it(grade_text, right):
    heads, rest = right.split("def scaled_dot_product_attention")
    files = {
        "multi_head_attention.py": "import math\nimport torch\nfrom torch import Tensor, nn\n"
        "from cut import merge_heads, split_heads\n"
        "def scaled_dot_product_attention" + rest,
        "cut.py": heads.replace("x.transpose(1, 2)  # (B, H, T, d_k)", "x"),
    }
    report = grade_text(files)
    row = next(c for c in report.checks() if c.id == "split_heads_places_features")
    assert row.location.file == "cut.py"


def test_student_output_is_not_the_graders(grade_text, right, capfd):
    report = grade_text(right + "\nprint('said by the student')\n")
    assert report.code_is_right
    assert "said by the student" not in capfd.readouterr().out


def test_a_secret_changes_the_inputs_and_not_the_verdict(assignment, launcher, right):
    wrong = {"a.py": right.replace("scores / math.sqrt(query.shape[-1])", "scores").encode()}
    public = Grader(assignment, launcher).grade(wrong, "a")
    secret = Grader(assignment, launcher, "a secret").grade(wrong, "a")
    assert [c.status for c in public.checks()] == [c.status for c in secret.checks()]
    assert [c.got for c in public.checks()] != [c.got for c in secret.checks()]


def test_without_fork_the_report_is_the_same(assignment, launcher, right):
    files = {"a.py": right.replace("dim=-1)  # over the keys", "dim=-2)").encode()}
    forked = Grader(assignment, launcher).grade(files, "a")
    with SpawnLauncher() as spawn:
        spawned = Grader(assignment, spawn).grade(files, "a")
    assert spawned.milestones == forked.milestones


def test_grade_is_a_function_of_bytes(assignment, right):
    assert grade({"a.py": right.encode()}, "a", assignment).code_is_right


@pytest.mark.parametrize("extra", ["conftest.py", "pytest.ini", "sitecustomize.py", "math.py"])
def test_files_beside_the_submission_take_no_part(grade_text, right, extra):
    report = grade_text(
        {"mine.py": right, "sub/__init__.py": "", extra.replace(".ini", ".py"): "1/0"}
    )
    assert report.code_is_right


def test_configuration_around_pytest_takes_no_part(assignment, launcher, right, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", "--nonsense")
    monkeypatch.setenv("PYTEST_PLUGINS", "nonsense")
    assert Grader(assignment, launcher).grade({"a.py": right.encode()}, "a").code_is_right


def test_an_error_of_the_grader_is_its_own_status(assignment, launcher, right, monkeypatch):
    monkeypatch.setattr("grader.checks.heads.split_heads", lambda x, n_heads: 1 / 0)
    report = Grader(assignment, launcher).grade({"a.py": right.encode()}, "a")
    assert report.status == "error"
    assert any("split_heads_places_features" in f.message for f in report.findings)
