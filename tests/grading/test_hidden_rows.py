"""Hidden rows say that something is wrong, and nothing of the input that shows it."""

import pytest

from grader.grading import Grader

LEAKING = """
class Told(Exception):
    pass
def scaled_dot_product_attention(query, key, value, mask=None):
    raise Told(f"the input is {query.flatten().tolist()}")
"""
WRONG = """
def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
"""
ENDING = """
def scaled_dot_product_attention(query, key, value, mask=None):
    import os
    os._exit(3)
"""


@pytest.fixture
def hidden(assignment):
    """The assignment with every check hidden."""
    milestones = tuple(
        m.model_copy(
            update={"checks": tuple(c.model_copy(update={"hidden": True}) for c in m.checks)}
        )
        for m in assignment.milestones
    )
    return assignment.model_copy(update={"milestones": milestones})


@pytest.mark.parametrize("text", [LEAKING, WRONG, ENDING], ids=["raises", "wrong", "ends"])
def test_no_input_no_value_and_no_text_of_an_exception_is_shown(
    hidden, launcher, right, text, assignment
):
    files = {"a.py": (right + text).encode()}
    open_rows = {c.id: c for c in Grader(assignment, launcher).grade(files, "a").code()}
    report = Grader(hidden, launcher).grade(files, "a")
    lost = [c for c in report.code() if c.status != "passed"]
    assert lost
    for row in lost:
        assert (row.status, row.score) == (open_rows[row.id].status, open_rows[row.id].score)
        assert row.expected is row.got is None
        shown = f"{row.message}"
        assert "the input is" not in shown
        assert "tensor" not in shown
        assert "For:" not in shown
        assert not any(
            character.isdigit() for character in shown.replace("d_k", "").replace("1", "")
        )
    if text is WRONG:
        row = next(c for c in lost if c.id == "attention_values")
        assert row.misconception == "scale-missing"
        assert row.hint


def test_rows_that_are_not_hidden_teach_as_before(assignment, launcher, right):
    report = Grader(assignment, launcher).grade({"a.py": (right + WRONG).encode()}, "a")
    row = next(c for c in report.code() if c.id == "attention_values")
    assert row.expected
    assert row.got
