"""Every misconception with a sentence has a submission that makes it, and the reverse."""

from grader.assignment import assignment_ids
from reference.misconceptions import SENTENCES
from tests.grading.corpus import manifest

# Told apart from those in the list of misconceptions, and made by no submission yet.
FINER = {
    "graph-self-loop-twice",
    "graph-transposed",
    "heads-interleaved",
    "heads-view-and-merge-without-transpose",
}


def made() -> set[str]:
    return {
        misconception
        for assignment in assignment_ids()
        for entry in manifest(assignment, "wrong").values()
        for misconception in entry["misconceptions"]
    }


def test_every_misconception_is_made_by_some_submission():
    assert SENTENCES.keys() - made() == FINER


def test_every_misconception_of_a_submission_has_a_sentence():
    assert made() <= SENTENCES.keys()
