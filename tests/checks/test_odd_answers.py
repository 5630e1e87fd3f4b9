"""Answers of every odd kind: a wrong one loses points, and none ends in an error of the grader."""

from pathlib import Path

import pytest

from grader.assignment import load_assignment
from grader.grading import Grader

ROOT = Path(__file__).resolve().parents[2]
ODD = {
    "float64": "x.double()", "float16": "x.half()", "bfloat16": "x.bfloat16()", "int64": "x.long()",
    "bool": "x.bool()", "complex": "x + 0j", "nan": "x * float('nan')", "inf": "x + float('inf')",
    "scalar": "x.float().sum()", "empty": "x[:0]", "flat": "x.reshape(-1)",
    "one mean for all": "x.float().mean().expand(x.shape)", "meta": "x.to('meta')",
    "sparse": "x.float().to_sparse()", "huge": "x * 1e38", "nothing": "None", "a text": "'x'",
    "numpy": "x.detach().numpy()", "a list": "x.tolist()", "twice as large": "x.float().repeat(*[2] * max(1, x.dim()))",
}  # fmt: skip
WRAP = """
import torch as _torch
def _odd(x):
    return {odd}
def _each(v):
    if isinstance(v, _torch.Tensor):
        return _odd(v)
    return type(v)(_each(x) for x in v) if isinstance(v, (tuple, list)) else v
def _wrap(f):
    return lambda *a, **k: _each(f(*a, **k))
"""
RIGHT = {
    "multi_head_attention": "right_linear_layers.py",
    "transformer_review": "right_own_layers.py",
}


def wrapped(assignment, name, odd):
    """A right submission whose definition of that name gives odd answers."""
    text = (ROOT / "examples" / assignment / RIGHT[assignment]).read_text()
    change = (
        f"{name}.forward = _wrap({name}.forward)"
        if f"class {name}" in text
        else f"{name} = _wrap({name})"
    )
    return text + WRAP.format(odd=odd) + change + "\n"


CASES = [("multi_head_attention", "scaled_dot_product_attention", odd) for odd in ODD] + [
    (assignment, name, odd)
    for assignment, name in (
        ("multi_head_attention", "MultiHeadAttention"),
        ("transformer_review", "DecoderBlock"),
    )
    for odd in ("float64", "complex", "scalar", "sparse", "one mean for all")
]


@pytest.mark.parametrize(("assignment", "name", "odd"), CASES)
def test_an_odd_answer_is_the_students_and_not_the_graders_mistake(launcher, assignment, name, odd):
    loaded = load_assignment(assignment)
    text = wrapped(assignment, name, ODD[odd])
    report = Grader(loaded, launcher).grade({f"{loaded.module}.py": text.encode()}, odd)
    faults = [f.message for f in report.findings if "grader itself failed" in f.message]
    assert faults == []
    assert report.status == "graded"
    assert not report.code_is_right
