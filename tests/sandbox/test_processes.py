"""The processes around a worker: who waits for whom, and what ends with what."""

import os
import signal
import time
from pathlib import Path

import pytest

from grader.errors import IsolationUnavailable, StudentCrashed
from grader.sandbox import Limits
from grader.sandbox.system import IS_LINUX
from grader.worker.client import ForkLauncher
from tests.hostile.arena import descendants
from tests.sandbox.unprivileged import needs_root

pytestmark = pytest.mark.skipif(not IS_LINUX, reason="the sandbox is Linux's")


@pytest.fixture(scope="module")
def launcher():
    with ForkLauncher("namespaces") as launcher:
        yield launcher


def load(worker, text):
    request = {
        "sources": {"m.py": [[1, text]]}, "modules": ["m.py"], "tolerant": [], "names": ["f"],
    }  # fmt: skip
    worker.request("load", request, 10)


def gone(pids):
    deadline = time.monotonic() + 5
    while any(map(runs, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not any(map(runs, pids))


def runs(pid):
    """Whether a process is there, and not only waits to be asked how it ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def test_killing_the_outer_process_ends_the_whole_namespace(launcher):
    worker = launcher.start(Limits())
    load(worker, "def f(): pass")
    zygote = launcher._process.pid
    every = descendants(zygote)
    assert len(every) == 3  # the outer one, the first of the namespace, and the worker
    outer = next(p for p in every if descendants(p) and p in direct(zygote))
    os.kill(outer, signal.SIGKILL)
    assert gone(every - {outer})
    worker.end()
    assert descendants(zygote) == set()


def direct(pid):
    return {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


def test_the_zygote_and_those_who_wait_have_one_thread(launcher):
    worker = launcher.start(Limits())
    zygote = launcher._process.pid
    waiting = {p for p in descendants(zygote) if descendants(p)}
    assert [threads(p) for p in (zygote, *waiting)] == [1, 1, 1]
    for pid in waiting:  # and nothing open but what they wait on
        assert len(os.listdir(f"/proc/{pid}/fd")) == 1
    worker.end()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("import os\ndef f(): os._exit(5)", "exit code 5"),
        ("import os\ndef f(): os.kill(os.getpid(), 11)", "SIGSEGV"),
        ("import os\ndef f(): os.kill(os.getpid(), 6)", "SIGABRT"),
        ("import os\ndef f(): os.kill(os.getpid(), 9)", "was killed"),
    ],
)
def test_how_a_worker_ended_comes_through(launcher, text, word):
    worker = launcher.start(Limits())
    load(worker, text)
    with pytest.raises(StudentCrashed, match=word):
        worker.request("call", {"target": "f", "inputs": []}, 5)


def test_a_worker_that_fills_the_disk_is_ended_where_it_has_no_file_system_of_its_own():
    text = (
        "import os, time\n"
        "def f():\n"
        "    for i in range(5000): open(f'file{i}', 'w').close()\n"
        "    time.sleep(20)\n"
    )
    with ForkLauncher("limits") as launcher:
        worker = launcher.start(Limits())
        load(worker, text)
        with pytest.raises(StudentCrashed, match="4,000 files"):
            worker.request("call", {"target": "f", "inputs": []}, 15)
        assert os.listdir(launcher._folder) == []


def test_in_namespaces_a_disk_is_full_soon(launcher):
    text = (
        "def f():\n"
        "    for i in range(40):\n"
        "        with open(f'file{i}', 'wb') as file: file.write(bytes(4 * 2**20))\n"
    )
    worker = launcher.start(Limits())
    load(worker, text)
    with pytest.raises(Exception, match="No space left"):
        worker.request("call", {"target": "f", "inputs": []}, 15)
    worker.end()


@needs_root
def test_without_a_sandbox_root_still_runs_no_student_code():
    """And nothing that it starts outlives it, though it may start processes then."""
    text = (
        "import os, time\n"
        "print(f'uid {os.getuid()} {os.geteuid()} {os.getgroups()}')\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    time.sleep(100)\n"
        "def f(): pass\n"
    )
    with ForkLauncher("limits") as launcher:
        can_be_had = "identity" in launcher.start_and_end().held["mechanisms"]
    with ForkLauncher("none") as launcher:
        worker = launcher.start(Limits())
        assert worker.isolation == "none"
        if can_be_had:
            launcher.require_isolation("user")
        else:
            with pytest.raises(IsolationUnavailable):
                launcher.require_isolation("user")
        with pytest.raises(IsolationUnavailable):
            launcher.require_isolation("limits")
        launcher.require_isolation("none")
        load(worker, text)
        started = descendants(launcher._process.pid)
        assert len(started) == 2
        held, output = worker.held, worker.output
        worker.end()
        assert gone(started)
    assert ("identity" in held["mechanisms"]) == can_be_had
    _, real, effective, groups = output.text().split(maxsplit=3)
    assert real == effective
    assert (int(real) != 0) == can_be_had
    assert groups.strip() == "[]" or not can_be_had
