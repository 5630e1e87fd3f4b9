"""A run that is killed at any moment goes on where it stopped; Ctrl-C says so."""

import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.batch import class_secret, write_atomically
from grader.batch.folder import STORE
from grader.errors import InputError
from grader.report import read_report
from tests.batch.little import make_little

ROOT = Path(__file__).resolve().parents[2]
SLOW = "import time\n\ndef f(x):\n    time.sleep(0.5)\n    return 2 * x\n"
MANY = 12
pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Starts `grader grade` on a class for a little assignment, in a process group of its own."""
    little = make_little(tmp_path / "assignments" / "little")
    folder, out = tmp_path / "class", tmp_path / "out"
    folder.mkdir()
    for number in range(MANY):
        (folder / f"s{number:02}.py").write_text(f"{SLOW}# {number}\n")
    # A job in the background is started with these ignored, and keeps that.
    signals = "signal.signal(signal.SIGINT, signal.default_int_handler); "
    signals += "signal.signal(signal.SIGHUP, signal.SIG_DFL); "
    code = (
        f"import signal; {signals}import sys; from pathlib import Path; import grader.assignment as a; "
        f"load = a.load_assignment; a.load_assignment = lambda _: load(Path({str(little.folder)!r}));"
        "from grader.cli import main; main()"
    )
    started = []

    def start(*more):
        arguments = ["grade", folder, "-a", "little", "-o", out, "-j", "2", *more]
        process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        started.append(process)
        return process

    start.out = out
    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def tree(pid):
    """The processes below one, as far as they are children of children."""
    found = [pid]
    for each in found:
        try:
            children = Path(f"/proc/{each}/task/{each}/children").read_text().split()
        except OSError:
            continue  # it has ended
        found.extend(map(int, children))
        for task in Path(f"/proc/{each}/task").glob("[0-9]*/children"):
            found.extend(int(c) for c in task.read_text().split() if int(c) not in found)
    return found


def gradings(out):
    with sqlite3.connect(out / STORE) as connection:
        found = [name for (name,) in connection.execute("SELECT submission FROM gradings")]
    connection.close()
    return found


def texts(out):
    return {path.name: path.read_text() for path in (out / "reports").glob("*.json")}


def finishes(run):
    """Run to the end; returns what it printed."""
    process = run()
    output, errors = process.communicate(timeout=180)
    assert process.returncode == 0, errors
    return output


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux")
def test_a_whole_tree_that_is_killed_loses_nothing_and_repeats_nothing(run):
    moment = random.Random(0)
    for finished in (1, 4):
        process = run()
        for _ in range(finished):
            line = process.stderr.readline()
            assert line.startswith("["), line
        time.sleep(moment.uniform(0, 0.4))
        for pid in tree(process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.wait()
    kept, before, secret = gradings(run.out), texts(run.out), class_secret(run.out)
    assert 5 <= len(kept) < MANY
    assert len(set(kept)) == len(kept)
    for text in before.values():
        assert read_report(text).code_is_right
    output = finishes(run)
    assert f"{len(kept)} unchanged and kept, {MANY - len(kept)} graded" in output
    assert sorted(gradings(run.out)) == [f"s{n:02}.py" for n in range(MANY)]
    after = texts(run.out)
    assert len(after) == MANY
    assert {name: after[name] for name in before} == before
    assert class_secret(run.out) == secret
    assert list(run.out.rglob("*.tmp")) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_asked_to_stop_says_how_to_go_on(run, number):
    process = run()
    for _ in range(3):
        assert process.stderr.readline().startswith("[")
    started = tree(process.pid) if Path("/proc/self/task").is_dir() else []
    process.send_signal(number)
    begun = time.monotonic()
    _, errors = process.communicate(timeout=60)
    assert time.monotonic() - begun < 10
    assert process.returncode == 130
    told = errors.strip().splitlines()[-1]
    found = re.fullmatch(
        rf"grader: Stopped: (\d+) of {MANY} are finished and kept in {run.out}. The same command "
        r"goes on from there\.",
        told,
    )
    assert found, errors
    assert "Traceback" not in errors
    kept = gradings(run.out)
    assert len(kept) == int(found[1]) >= 3
    assert (run.out / "gradebook.csv").read_text().count("\n") == len(kept) + 1
    deadline = time.monotonic() + 15
    while any(map(is_running, started)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [pid for pid in started if is_running(pid)]
    finishes(run)
    assert sorted(gradings(run.out)) == [f"s{n:02}.py" for n in range(MANY)]


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_file_is_there_whole_or_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, "before")

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError, match="No space left"):
        write_atomically(path, "after")
    assert path.read_text() == "before"


def test_the_secret_of_a_class_is_made_once_and_is_its_owners(tmp_path):
    made = class_secret(tmp_path)
    assert class_secret(tmp_path) == made
    assert len(made) == 32
    assert (tmp_path / ".secret").stat().st_mode & 0o777 == 0o600
    other = tmp_path / "other"
    other.mkdir()
    assert class_secret(other) != made
