"""The corpus of `encoder_classifier`: right, wrong and broken submissions."""

from tests.grading.corpus import BrokenSubmissions, RightSubmissions, WrongSubmissions


class TestRight(RightSubmissions):
    assignment = "encoder_classifier"


class TestWrong(WrongSubmissions):
    assignment = "encoder_classifier"


class TestBroken(BrokenSubmissions):
    assignment = "encoder_classifier"
