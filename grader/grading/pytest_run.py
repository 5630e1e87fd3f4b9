"""Runs pytest in this process on an assignment's checks, shielded from configuration around it."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from grader.assignment import Assignment
from grader.errors import AssignmentError
from grader.grading.titles import test_functions

# What of the environment stays: where things are, how much of a terminal there is, and what workers
# that are started meanwhile are given.
KEPT = {
    "PATH", "HOME", "TMPDIR", "TEMP", "TMP", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SYSTEMROOT",
    "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TERM", "COLORTERM", "COLUMNS", "LINES", "NO_COLOR",
    "FORCE_COLOR", "PYTHONUTF8", "PYTHONIOENCODING", "OMP_NUM_THREADS", "GRADER_DEBUG",
}  # fmt: skip
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

    ini = Path(__file__).resolve().with_name("pytest.ini")
    folder = assignment.folder.resolve()
    arguments = [
        str(folder), *_tests_of_others(assignment),
        "-c", str(ini), "--rootdir", str(folder),
        "--noconftest", "--import-mode=importlib", "--assert=plain", "--disable-plugin-autoload",
        *(f"-pno:{name}" for name in UNUSED_PLUGINS),
    ]  # fmt: skip
    errors = _CollectionErrors()
    threads = torch.get_num_threads()
    loaded = set(sys.modules)
    # Checks compare small tensors; threads that spin while they wait would take the worker's core.
    torch.set_num_threads(1)
    try:
        with _by_itself():
            code = pytest.main(arguments, plugins=[plugin, errors])
    finally:
        torch.set_num_threads(threads)
        _forget_tests(assignment, loaded)
    if errors.messages or code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        what = "; ".join(errors.messages) or f"pytest ended with {code!r}"
        raise AssignmentError(f"The checks of {assignment.id} could not be run: {what}")


@contextmanager
def _by_itself() -> Iterator[None]:
    """In a folder of its own, with an environment that holds nothing of the caller's but names.

    So nothing that lies in the caller's folder is found, and no secret is there to be shown.
    """
    kept = {name: value for name, value in os.environ.items() if name.upper() in KEPT}
    before, folder = dict(os.environ), Path.cwd()
    with tempfile.TemporaryDirectory(prefix="grader-pytest-") as own:
        os.environ.clear()
        os.environ.update(kept)
        os.chdir(own)
        try:
            yield
        finally:
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(before)


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
            names.append(f"{test.path.resolve()}::{test.node.name}")
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
