"""The neighbours of attacks: what only looks like one is graded as what it is, and what hides is not.

`awkward` holds right submissions that print, compile, fork, read the environment and the like;
`hidden_calls` right values that the library's own attention computed, hidden from the source.
"""

import pytest

from grader.grading import Grader
from grader.sandbox.system import IS_LINUX
from grader.worker.client import ForkLauncher
from tests.hostile.arena import HERE, attacks, small_assignment

pytestmark = pytest.mark.skipif(not IS_LINUX, reason="the sandbox is Linux's")
AWKWARD = attacks(HERE / "awkward")
HIDDEN = attacks(HERE / "hidden_calls")


@pytest.fixture(scope="module")
def graders():
    with (
        small_assignment() as assignment,
        ForkLauncher("namespaces") as namespaces,
        ForkLauncher("limits") as limits,
    ):
        yield {"namespaces": Grader(assignment, namespaces), "limits": Grader(assignment, limits)}


@pytest.mark.parametrize("level", ["namespaces", "limits"])
@pytest.mark.parametrize("name", list(AWKWARD))
def test_an_awkward_submission_gets_full_marks(graders, name, level):
    report = graders[level].grade({"attention.py": AWKWARD[name].encode()}, name)
    lost = {c.id: c.message for c in report.code() if c.status != "passed"}
    assert lost == {}


@pytest.mark.parametrize("name", list(HIDDEN))
def test_a_hidden_library_call_wins_nothing_and_is_told_with_its_line(graders, name):
    report = graders["namespaces"].grade({"attention.py": HIDDEN[name].encode()}, name)
    assert report.score == 0
    first = report.code()[0]
    assert (first.status, first.misconception) == ("refused", "disallowed-module")
    seen = [f for f in report.findings if f.kind == "review" and "was seen to use" in f.message]
    assert len(seen) == 1
    assert seen[0].location is not None


BLINDING = attacks(HERE / "blinding")


@pytest.mark.parametrize("name", list(BLINDING))
def test_nothing_passes_that_may_have_been_hidden_from_the_watch(graders, name):
    report = graders["namespaces"].grade({"attention.py": BLINDING[name].encode()}, name)
    assert report.score == 0
    assert {c.status for c in report.code()} <= {"review", "refused", "blocked", "failed"}
    assert any(f.kind == "review" and "Worth a look" in f.message for f in report.findings)


BLIND = """
import torch
from torch.utils._python_dispatch import _disable_current_modes
def scaled_dot_product_attention(q, k, v, mask=None):
    weights = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        weights = weights.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(weights, dim=-1)
    with _disable_current_modes():
        return getattr(torch.nn.functional, "scaled_" + "dot_product_attention")(
            q, k, v, None if mask is None else mask.bool()), weights
"""


def test_what_takes_the_watch_away_is_left_to_a_person(graders):
    report = graders["namespaces"].grade({"attention.py": BLIND.encode()}, "blind")
    assert report.score == 0
    assert {c.status for c in report.code()} <= {"review", "refused", "blocked"}
    row = report.code()[0]
    if row.status == "review":
        assert "what computed them cannot be told" in row.message
    assert any("_disable_current_modes" in f.message for f in report.findings)


LATER = BLIND.replace("_disable_current_modes()", "__import__('contextlib').nullcontext()").replace(
    "from torch.utils._python_dispatch import _disable_current_modes\n", ""
)


def test_a_use_belongs_to_the_definition_that_it_happens_in(launcher, assignment, right):
    """A layer that calls the student's own function is not refused for what that one uses."""
    text = right + LATER.replace("import torch\n", "\n")
    report = Grader(assignment, launcher).grade({"m.py": text.encode()}, "m")
    rows = {c.id: c for c in report.code()}
    assert rows["attention_values"].status == "refused"
    assert rows["layer_shapes"].status == "passed"
    assert rows["split_heads_places_features"].status == "passed"
