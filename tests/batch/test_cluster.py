"""A dask cluster of separate processes: what is lost, what is refused, and that nothing else is."""

import gc
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

distributed = pytest.importorskip("distributed")

from grader.batch import find_submissions, grade_class, read_class  # noqa: E402
from grader.batch.cluster import Cluster  # noqa: E402
from grader.batch.fingerprint import grader_version  # noqa: E402
from grader.batch.folder import STORE  # noqa: E402
from grader.batch.lane import Setup  # noqa: E402
from grader.errors import InputError  # noqa: E402
from tests.batch.little import RIGHT, WRONG, Heard, make_little, written  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
SLOW = "import time\n\ndef f(x):\n    time.sleep(0.3)\n    return 2 * x\n"
WORKER = [
    sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-dashboard",
    "--no-nanny", "--death-timeout", "60", "--host", "127.0.0.1",
]  # fmt: skip


@pytest.fixture
def little(tmp_path):
    return make_little(tmp_path / "assignments" / "little")


@contextmanager
def started_scheduler(log):
    """A scheduler without workers, in a process of its own; that process, and its address."""
    command = [
        "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0",
        "--no-dashboard",
    ]  # fmt: skip
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, *command],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stderr=output,
            stdout=output,
        )
        try:
            yield process, _address(log)
        finally:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """The address of a scheduler that several tests use."""
    with started_scheduler(tmp_path_factory.mktemp("scheduler") / "log") as (_, address):
        yield address


@pytest.fixture
def start(scheduler, tmp_path):
    """Starts workers, which end with the test."""
    started = []

    def start(home=ROOT, address=scheduler):
        process = subprocess.Popen(
            [*WORKER, address, "--local-directory", str(tmp_path / "dask")],
            env={**os.environ, "PYTHONPATH": str(home)},
            cwd=home,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
    with distributed.Client(scheduler, set_as_default=False) as client:
        deadline = time.monotonic() + 30
        while client.nthreads() and time.monotonic() < deadline:
            time.sleep(0.1)


def wait_for(scheduler, count):
    with distributed.Client(scheduler, set_as_default=False) as client:
        client.wait_for_workers(count, timeout=60)


def gradings(out):
    with sqlite3.connect(out / STORE) as connection:
        found = [name for (name,) in connection.execute("SELECT submission FROM gradings")]
    connection.close()
    return found


def test_workers_that_are_killed_lose_nothing(tmp_path, little, scheduler, start):
    texts = {f"s{n:02}": SLOW + f"# {n}\n" for n in range(10)}
    folder, out = (
        written(tmp_path / "class", **texts, wrong=WRONG, syntax="def f(:\n"),
        tmp_path / "o",
    )
    workers = [start(), start()]
    wait_for(scheduler, 2)
    setup = Setup.here(little).travelling(little)

    class Kills(Heard):
        def finished(self, row):
            super().finished(row)
            if len(self.rows) == 3:
                os.kill(workers[0].pid, signal.SIGKILL)
            if len(self.rows) == 5:
                workers.append(start())  # one that comes later is used, too

    heard = Kills()
    with Cluster(scheduler, setup) as cluster:
        assert cluster.width == 0
        count = grade_class(find_submissions([folder]), little, out, cluster, watcher=heard)
    assert (count.graded, count.refused, count.errors) == (12, 1, 0)
    assert sorted(gradings(out)) == sorted(row.id for row in heard.rows)
    assert len(heard.rows) == 12
    right = [row.id for row in read_class(out) if row.summary.code_is_right]
    assert right == sorted(f"{name}.py" for name in texts)


def test_a_worker_with_another_grader_is_refused(tmp_path, little, scheduler, start):
    home = tmp_path / "other"
    for name in ("grader", "reference", "assignments", "student_template"):
        shutil.copytree(ROOT / name, home / name, ignore=shutil.ignore_patterns("__pycache__"))
    with (home / "grader" / "errors.py").open("a") as file:
        file.write("# another version\n")
    folder = written(tmp_path / "class", a=RIGHT, b=WRONG)
    found, out = find_submissions([folder]), tmp_path / "out"
    setup = Setup.here(little).travelling(little)
    start(home)
    wait_for(scheduler, 1)
    heard = Heard()
    with Cluster(scheduler, setup) as cluster, pytest.raises(InputError) as told:
        grade_class(found, little, out, cluster, watcher=heard)
    assert f"install {grader_version()} there" in str(told.value)
    assert len(heard.sentences) == 1
    assert "is not used: it has 0." in heard.sentences[0]
    assert gradings(out) == []
    start()
    wait_for(scheduler, 2)
    with Cluster(scheduler, setup) as cluster:
        assert grade_class(found, little, out, cluster).graded == 2
        assert cluster.width == 1


def test_an_answer_that_is_lost_on_its_way_is_asked_for_again(
    tmp_path, little, scheduler, start, monkeypatch
):
    result, waits = distributed.Future.result, []

    def lost_at_first(future, timeout=None):
        waits.append(timeout)
        if len(waits) == 1:
            raise TimeoutError
        return result(future, timeout)

    monkeypatch.setattr(distributed.Future, "result", lost_at_first)
    folder, out = written(tmp_path / "class", a=RIGHT, b=WRONG), tmp_path / "out"
    start()
    wait_for(scheduler, 1)
    with Cluster(scheduler, Setup.here(little).travelling(little)) as cluster:
        assert grade_class(find_submissions([folder]), little, out, cluster).graded == 2
    assert sorted(gradings(out)) == ["a.py", "b.py"]
    assert len(waits) == 3
    assert None not in waits


def test_a_scheduler_that_says_nothing_more_is_not_waited_for(scheduler, little, monkeypatch):
    monkeypatch.setattr("grader.batch.cluster.ANSWER_SECONDS", 0.5)
    monkeypatch.setattr("grader.batch.cluster.WORKERS_SECONDS", 1)
    begun = time.monotonic()
    with Cluster(scheduler, Setup.here(little)) as cluster:
        monkeypatch.setattr(cluster._client, "nthreads", lambda: time.sleep(60))
        with pytest.raises(InputError, match="has no workers"):
            list(cluster.run(iter([]), Heard()))
    assert time.monotonic() - begun < 30


def test_a_cluster_that_cannot_be_reached_is_told(little, monkeypatch):
    monkeypatch.setattr("grader.batch.cluster.CONNECT_SECONDS", 1)
    for address in ("tcp://127.0.0.1:9", "nowhere", "tcp://"):
        with pytest.raises(InputError, match="cannot be reached"):
            Cluster(address, Setup.here(little))
        clients = [each for each in gc.get_objects() if type(each) is distributed.Client]
        assert {client.status for client in clients} <= {"closed"}


def test_something_else_that_listens_there_is_told(little, monkeypatch):
    monkeypatch.setattr("grader.batch.cluster.CONNECT_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(InputError, match="cannot be reached"):
            Cluster(address, Setup.here(little))


def test_a_cluster_without_workers_is_told(tmp_path, little, scheduler, monkeypatch):
    monkeypatch.setattr("grader.batch.cluster.WORKERS_SECONDS", 0.5)
    folder, heard = written(tmp_path / "class", a=RIGHT), Heard()
    with Cluster(scheduler, Setup.here(little)) as cluster, pytest.raises(InputError) as told:
        grade_class(find_submissions([folder]), little, tmp_path / "o", cluster, watcher=heard)
    assert "has no workers" in str(told.value)
    assert "waiting" in heard.sentences[0]


def test_a_cluster_that_goes_away_is_told_and_what_is_finished_is_kept(tmp_path, little, start):
    texts = {f"s{n:02}": SLOW + f"# {n}\n" for n in range(6)}
    folder, out = written(tmp_path / "class", **texts), tmp_path / "out"
    with started_scheduler(tmp_path / "log") as (process, address):
        start(address=address)
        wait_for(address, 1)

        class Ends(Heard):
            def finished(self, row):
                super().finished(row)
                if len(self.rows) == 2:
                    process.kill()

        heard = Ends()
        with (
            Cluster(address, Setup.here(little).travelling(little)) as cluster,
            pytest.raises(InputError, match="what is finished is kept"),
        ):
            grade_class(find_submissions([folder]), little, out, cluster, watcher=heard)
    assert 2 <= len(gradings(out)) < 6


def _address(log):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for line in log.read_text().splitlines():
            if "Scheduler at:" in line:
                return line.split("Scheduler at:")[1].strip()
        time.sleep(0.1)
    raise AssertionError(log.read_text())
