"""Runs pytest in this process on an assignment's checks, shielded from configuration around it."""

import os
import sys
from pathlib import Path
from typing import Any

from grader.assignment import Assignment
from grader.errors import AssignmentError
from grader.grading.titles import test_functions

UNUSED_PLUGINS = [
    "cacheprovider", "capture", "terminal", "logging", "junitxml", "pastebin", "doctest",
    "unittest", "stepwise", "setuponly", "setupplan", "warnings", "debugging", "faulthandler",
    "threadexception", "unraisableexception", "recwarn", "monkeypatch", "legacypath", "tmpdir",
    "skipping", "subtests",
]  # fmt: skip


def run_pytest(assignment: Assignment, plugin: Any) -> None:
    """Run pytest in this process on an assignment's tests, shielded from configuration around it.

    Raises:
        AssignmentError: the tests cannot be collected, or do not fit the rubric.
    """
    import pytest
    import torch

    ini = Path(__file__).with_name("pytest.ini")
    arguments = [
        str(assignment.folder), *_tests_of_others(assignment),
        "-c", str(ini), "--rootdir", str(assignment.folder),
        "--noconftest", "--import-mode=importlib", "--assert=plain", "--disable-plugin-autoload",
        *(f"-pno:{name}" for name in UNUSED_PLUGINS),
    ]  # fmt: skip
    hidden = {n: os.environ.pop(n) for n in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS") if n in os.environ}
    errors = _CollectionErrors()
    threads = torch.get_num_threads()
    loaded = set(sys.modules)
    # Checks compare small tensors; threads that spin while they wait would take the worker's core.
    torch.set_num_threads(1)
    try:
        code = pytest.main(arguments, plugins=[plugin, errors])
    finally:
        torch.set_num_threads(threads)
        os.environ.update(hidden)
        _forget_tests(assignment, loaded)
    if errors.messages or code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        what = "; ".join(errors.messages) or f"pytest ended with {code!r}"
        raise AssignmentError(f"The checks of {assignment.id} could not be run: {what}")


def _forget_tests(assignment: Assignment, loaded: set[str]) -> None:
    """Unload the test modules of a run, since another assignment may have some of the same name."""
    root = f"{assignment.folder.resolve().parent}{os.sep}"
    for name in sys.modules.keys() - loaded:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(root):
            del sys.modules[name]


def _tests_of_others(assignment: Assignment) -> list[str]:
    """The tests that the rubric takes from other assignments, as pytest names them."""
    names = []
    for _, check in assignment.checks():
        if check.from_:
            test = test_functions(assignment.test_folder(check)).get(check.id)
            if test is None:
                raise AssignmentError(f"{check.from_} has no test for the check {check.id}")
            names.append(f"{test.path}::{test.node.name}")
    return names


class _CollectionErrors:
    """Keeps why tests could not be collected or run, which pytest would only print."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def pytest_collectreport(self, report: Any) -> None:
        """Note a module that cannot be imported."""
        if report.failed:
            self.messages.append(str(report.longrepr).strip().splitlines()[-1])

    def pytest_internalerror(self, excinfo: Any) -> bool:
        """Note an error in a hook, such as a rubric that does not fit its tests."""
        self.messages.append(f"{excinfo.value}")
        return True

    def pytest_keyboard_interrupt(self, excinfo: Any) -> None:
        """Let Ctrl-C through."""
        raise KeyboardInterrupt from excinfo.value
