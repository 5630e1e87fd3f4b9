"""Runs the tests of a corpus class once for each submission of its folder."""

import pytest

pytest.register_assert_rewrite("tests.grading.corpus")

from tests.grading.corpus import Corpus, members  # noqa: E402


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if (
        metafunc.cls is not None
        and issubclass(metafunc.cls, Corpus)
        and "name" in metafunc.fixturenames
    ):
        metafunc.parametrize("name", members(metafunc.cls.assignment, metafunc.cls.folder))
