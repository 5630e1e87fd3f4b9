"""Attacks: each is graded beside an honest submission, and must break nothing and win nothing.

Every attack comes with a wrong implementation, so whatever it wins beyond that one's points is a
breach; so is a change in the sibling's report, a process or a file that is left, or a report that is
not made. They are tried in namespaces, without them, and as a user without rights.
"""

import pytest

from grader.sandbox.system import IS_LINUX
from grader.worker.client import ForkLauncher
from tests.hostile.arena import HERE, Arena, attacks, small_assignment

pytestmark = pytest.mark.skipif(not IS_LINUX, reason="the sandbox is Linux's")
ATTACKS = attacks(HERE / "attacks")


@pytest.fixture(scope="module")
def arena():
    with small_assignment() as assignment, ForkLauncher("namespaces") as launcher:
        yield Arena(launcher, assignment)


@pytest.mark.parametrize("name", list(ATTACKS))
def test_an_attack_breaks_nothing_and_wins_nothing(arena, name):
    result = arena.attack(name, ATTACKS[name])
    assert result["breaches"] == []
    assert result["isolation"] == "namespaces"
