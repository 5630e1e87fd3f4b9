"""The README's figures of the assignments are those of the rubrics."""

from pathlib import Path

import pytest

from grader.assignment import assignment_ids, load_assignment

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("assignment_id", assignment_ids())
def test_the_readme_states_checks_questions_and_points(assignment_id):
    loaded = load_assignment(assignment_id)
    assert loaded.questions is not None
    (line,) = [line for line in README.splitlines() if line.startswith(f"| `{assignment_id}`")]
    checks, questions = len(list(loaded.checks())), len(loaded.questions.questions)
    assert f"{checks} checks, {questions} questions, {loaded.points.normalize():f} points" in line
    for milestone in loaded.milestones:
        points = f"{milestone.points.normalize():f}"
        assert f"`{milestone.id}` {len(milestone.checks)}, {points}" in line
