"""The corpus of `transformer_review`: right, wrong and broken submissions."""

from tests.grading.corpus import BrokenSubmissions, RightSubmissions, WrongSubmissions


class TestRight(RightSubmissions):
    assignment = "transformer_review"


class TestWrong(WrongSubmissions):
    assignment = "transformer_review"


class TestBroken(BrokenSubmissions):
    assignment = "transformer_review"
