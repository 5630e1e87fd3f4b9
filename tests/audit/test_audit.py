"""An audit fails when a mutant keeps its marks or is told another mistake, or a right one loses."""

import json
from decimal import Decimal

import pytest

from grader.assignment import load_assignment
from grader.audit import REFERENCE, run_audit
from grader.audit.terminal import figures, print_audit
from grader.errors import InputError
from grader.grading import Grader
from reference.misconceptions.mutants import Change, Mutant
from tests.cli.test_cli import run
from tests.conftest import ROOT

RUBRIC = """
schema = "transformer-grader/rubric/1"
id = "causal_mask"
title = "Causal mask"
lesson = "Lesson 115"
module = "causal_mask"

[[components]]
name = "causal_mask"
arguments = ["size"]

[[milestones]]
id = "mask"
title = "The mask"
"""
ROW = """
[[milestones.checks]]
id = "{name}"
points = 0.5
component = "causal_mask"
hint = "See the hint."
lesson = "Lesson 115, the section"
"""
HEAD = """
import torch
from grader.errors import CheckFailure
"""
SHAPE = '''
def test_shape(student):
    """It is a square."""
    if student.causal_mask(3).shape != (3, 3):
        raise CheckFailure("No square.")
'''
VALUES = '''
def test_values(student, reference):
    """It is a lower triangle."""
    got = student.causal_mask(3)
    if not torch.equal(got, reference.causal_mask(3)):
        raise CheckFailure("Other values.", misconception={name!r})
'''
PICKY = '''
def test_picky(student):
    """Nothing is good enough."""
    raise CheckFailure("Never right.")
'''
SHIFTED = Mutant(
    "decoder-causal-shifted", ("causal_mask",), (Change("masks", ".tril()", ".tril(1)"),)
)
TURNED = Mutant("mask-inverted", ("causal_mask",), (Change("masks", ".tril()", ".triu(1)"),))
RENAMED = Mutant(
    "pe-scaled-embedding", ("causal_mask",), (Change("masks", "size: int", "n: int = 0, size=3"),)
)


@pytest.fixture
def audited(tmp_path, launcher):
    """Audits a small assignment of given tests."""

    def audited(*tests, mutants=(SHIFTED,), right=None):
        folder = tmp_path / "causal_mask"
        folder.mkdir()
        names = [test.partition("def test_")[2].partition("(")[0] for test in tests]
        rows = "".join(ROW.format(name=name) for name in names)
        (folder / "rubric.toml").write_text(RUBRIC + rows)
        (folder / "test_mask.py").write_text(HEAD + "".join(tests))
        return run_audit(Grader(load_assignment(folder), launcher), mutants, right)

    return audited


def named(misconception):
    return VALUES.format(name=misconception)


def test_it_holds_when_the_mutant_loses_and_is_told_its_mistake(audited):
    audit = audited(SHAPE, named("decoder-causal-shifted"))
    (row,) = audit.mutants
    assert audit.holds
    assert row.verdict == "right"
    assert row.lost == Decimal("0.5")
    assert row.milestones == ("mask",)
    assert [(catch.check, catch.status) for catch in row.caught] == [("values", "failed")]
    assert [(right.name, right.accepted) for right in audit.right] == [(REFERENCE, True)]


def test_it_fails_when_a_mutant_keeps_full_marks(audited):
    audit = audited(SHAPE)
    assert audit.mutants[0].verdict == "kept"
    assert not audit.holds


def test_it_fails_when_a_diagnosis_is_wrong(audited):
    audit = audited(named("mask-inverted"))
    assert audit.mutants[0].verdict == "wrong"
    assert not audit.holds


def test_no_diagnosis_is_told_apart_and_does_not_fail(audited):
    audit = audited(named(None))
    assert audit.mutants[0].verdict == "unknown"
    assert audit.holds


def test_a_diagnosis_that_comes_second_is_told_apart(audited):
    values = named("decoder-causal-shifted").replace("test_values", "test_later")
    audit = audited(named("mask-inverted"), values)
    assert audit.mutants[0].named == ("mask-inverted", "decoder-causal-shifted")
    assert audit.mutants[0].verdict == "later"
    assert audit.holds


def test_an_id_that_is_also_accepted_is_right(audited):
    also = Mutant(SHIFTED.name, SHIFTED.assignments, SHIFTED.changes, also=("mask-inverted",))
    assert audited(named("mask-inverted"), mutants=[also]).mutants[0].verdict == "right"


def test_it_fails_when_the_reference_itself_loses(audited):
    audit = audited(PICKY, named("decoder-causal-shifted"))
    assert [row.name for row in audit.rejected] == [REFERENCE]
    assert not audit.holds


def test_it_fails_when_a_right_submission_loses(audited, tmp_path):
    right = tmp_path / "right"
    right.mkdir()
    source = "import torch\n\n\ndef causal_mask(size):\n    return torch.ones(size, size){}\n"
    (right / "good.py").write_text(source.format(".tril() == 1"))
    (right / "bad.py").write_text(source.format(".triu() == 1"))
    audit = audited(named("mask-dtype"), right=right)
    assert [row.name for row in audit.right] == [REFERENCE, "bad.py", "good.py"]
    (row,) = audit.rejected
    assert (row.name, row.lost, row.failed) == ("bad.py", Decimal("0.5"), ("values",))
    assert row.named == ("mask-dtype",)
    assert not audit.holds


def test_a_mutant_that_is_not_wrong_counts_among_the_right_ones(audited):
    harmless = Mutant("pe-scaled-embedding", ("causal_mask",), RENAMED.changes, right=True)
    audit = audited(SHAPE, mutants=[harmless])
    assert audit.mutants == ()
    assert [row.name for row in audit.right] == [REFERENCE, "pe-scaled-embedding"]


def test_right_submissions_that_are_not_there_are_told(audited, tmp_path):
    with pytest.raises(InputError, match="There is no folder"):
        audited(SHAPE, right=tmp_path / "missing")


def test_checks_that_catch_nothing_of_their_own_are_listed(audited):
    later = named("decoder-causal-shifted").replace("test_values", "test_later")
    audit = audited(SHAPE, named("mask-inverted"), later, mutants=[SHIFTED, TURNED])
    assert [check.check for check in audit.idle] == ["shape"]
    assert [check.check for check in audit.never_first] == ["later"]
    assert [(c.caught, c.first, c.alone) for c in audit.checks] == [(0, 0, 0), (2, 2, 0), (2, 0, 0)]


def test_it_is_printed_with_its_figures(audited, capsys):
    from rich.console import Console

    audit = audited(SHAPE, named("mask-inverted"), mutants=[SHIFTED, TURNED])
    print_audit(audit, Console(width=120))
    shown = capsys.readouterr().out
    assert "wrong diagnosis" in shown
    assert "No mutant fails: shape" in shown
    assert figures(audit) == [
        "causal_mask: mutants caught 2/2",
        "diagnosis: 1 right, 0 right but not first, 0 none, 1 wrong",
        "right submissions: 1/1 lose nothing, 0 false rejections",
    ]


def audit_command(*arguments, **kwargs):
    return run("audit", "multi_head_attention", "--mutant", "scale-missing", *arguments, **kwargs)


def test_the_command_is_0_when_it_holds(tmp_path):
    result = audit_command("--json", tmp_path / "audit.json")
    assert result.returncode == 0, result.stderr
    assert "diagnosis: " in result.stdout
    audit = json.loads((tmp_path / "audit.json").read_text())
    assert audit["schema"] == "transformer-grader/audit/1"
    assert audit["mutants"][0]["verdict"] == "right"


def test_the_command_is_1_when_a_right_submission_loses(tmp_path):
    wrong = (ROOT / "examples/multi_head_attention/wrong_scale_missing.py").read_text()
    (tmp_path / "not_right.py").write_text(wrong)
    result = audit_command("--right", tmp_path)
    assert result.returncode == 1
    assert "not_right.py is right and loses" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nonsense",), "no assignment 'nonsense'"),
        (("multi_head_attention", "--mutant", "nonsense"), "has no mutant 'nonsense'"),
        (("multi_head_attention", "--right", "missing"), "There is no folder missing"),
        (("multi_head_attention", "--json", "missing/audit.json"), "cannot be written"),
    ],
)
def test_bad_usage_is_2_and_one_sentence(arguments, sentence):
    result = run("audit", *arguments)
    assert result.returncode == 2
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
