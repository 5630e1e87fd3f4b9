"""The report does not depend on the order in which checks run."""

import random
from pathlib import Path

import pytest

from grader.assignment import load_assignment
from grader.grading import Grader
from grader.grading import plugin as plugin_module
from grader.intake import gather

ROOT = Path(__file__).resolve().parents[2]


def shuffled(seed):
    """An order in which what a check needs comes before it, and that is random otherwise."""

    def order(checks):
        rng = random.Random(seed)
        left, done = list(checks), []
        while left:
            ready = [name for name in left if set(checks[name].needs) <= set(done)]
            name = rng.choice(ready)
            left.remove(name)
            done.append(name)
        assert done != list(checks)
        return done

    return order


EXAMPLES = [
    ("multi_head_attention", "right_linear_layers.py"),
    ("multi_head_attention", "wrong_mask_inverted.py"),
    ("transformer_review", "right_own_layers.py"),
    ("encoder_classifier", "right_by_hand.py"),
]


@pytest.mark.parametrize(("assignment", "name"), EXAMPLES)
def test_checks_do_not_depend_on_those_before_them(monkeypatch, launcher, assignment, name):
    grader = Grader(load_assignment(assignment), launcher)
    files = gather(ROOT / "examples" / assignment / name)
    before = grader.grade(files, name)
    monkeypatch.setattr(plugin_module, "running_order", shuffled(name))
    after = grader.grade(files, name)

    def rows(report):
        return [(c.id, c.status, c.score, c.expected, c.got) for c in report.checks()]

    assert rows(after) == rows(before)
    if name.startswith("right"):
        assert after.model_copy(update={"seconds": before.seconds}) == before
