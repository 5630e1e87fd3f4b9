"""Grades a class on the workers of a dask cluster, each thread of which has a lane of its own.

dask's workers and its scheduler are trusted, as is the network between them: student code runs in
the lanes' sandboxes only. What travels is the assignment's files, once to each worker, and each
submission's bytes; a report's JSON comes back.
"""

import gc
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import Any, TypeVar

from grader.batch.executor import Executor, Result, Task
from grader.batch.fingerprint import grader_version
from grader.batch.lane import Lane, LaneBroken, Setup
from grader.batch.lanes import TRIES
from grader.batch.watcher import Watcher
from grader.errors import GraderError, InputError

CONNECT_SECONDS = 15
WORKERS_SECONDS = 300.0  # for a cluster to get a worker that can be used
LOOK_SECONDS = 2.0  # between looks at which workers there are
ANSWER_SECONDS = 60.0  # for the scheduler to answer; dask itself would wait for good
AHEAD = 1  # submissions that wait for each thread of a worker
T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """What a worker says of a task.

    Attributes:
        report: its JSON; None where there is none.
        fault: why.
        tries: how often it was tried there.
        is_prepared: whether the worker knew how to grade at all.
    """

    report: str | None = None
    fault: str = ""
    tries: int = 1
    is_prepared: bool = True


@dataclass
class _Sent:
    """A task that is with the cluster, and the workers that may take it."""

    task: Task
    workers: frozenset[str]


class Cluster(Executor):
    """Hands tasks to the workers of a dask cluster; those that come later are used, too.

    A worker is used when it has this very grader and this torch. One that is lost loses nothing:
    dask gives its tasks to another, and a task whose workers are all gone is sent anew.

    Args:
        address: of the scheduler, such as "tcp://10.0.0.1:8786".
        setup: how to grade, ready to travel.
        width: how many at a time at most; None for as many as the workers have threads.

    Raises:
        InputError: the cluster cannot be reached, or dask is not installed.
    """

    def __init__(self, address: str, setup: Setup, width: int | None = None) -> None:
        self._address = address
        self._setup = setup
        self._most = width
        self._client = _connect(address)
        self._key = f"{time.time_ns():x}"
        self._was_used = False
        self._used: dict[str, int] = {}  # workers that can be used, each with its threads
        self._refused: set[str] = set()
        self._sent: dict[Any, _Sent] = {}  # by dask's future
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._again: deque[Task] = deque()
        self._looked = 0.0

    @property
    def width(self) -> int:  # type: ignore[override]
        """How many submissions are graded at a time."""
        threads = sum(self._used.values())
        return threads if self._most is None else min(threads, self._most)

    def run(self, tasks: Iterator[Task], watcher: Watcher) -> Iterator[Result]:
        """Grade tasks on the cluster; see `Executor.run`."""
        self._wait_for_workers(watcher)
        is_over = False
        while not is_over or self._sent or self._again:
            while not is_over and len(self._sent) < self.width * (1 + AHEAD):
                task = self._again.popleft() if self._again else next(tasks, None)
                if task is None:
                    is_over = True
                else:
                    watcher.begun(task.id)
                    self._send(task)
            while is_over and self._again:
                self._send(self._again.popleft())
            try:
                future = self._done.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                self._look_again(watcher)
                continue
            sent = self._sent.pop(future, None)
            if sent is not None:
                result = self._result(future, sent)
                if result is not None:
                    yield result
            if not self._used or time.monotonic() - self._looked > LOOK_SECONDS:
                self._look_again(watcher)

    def _send(self, task: Task) -> None:
        workers = frozenset(self._used)
        future = self._client.submit(
            grade_there,
            self._key,
            task,
            workers=sorted(workers),
            allow_other_workers=False,
            pure=False,
        )
        self._sent[future] = _Sent(task, workers)
        future.add_done_callback(self._done.put)

    def _result(self, future: Any, sent: _Sent) -> Result | None:
        """What came of a task; None where it is sent anew."""
        if future.status == "cancelled":
            self._expect_cluster()
            self._again.append(sent.task)
            return None
        error = future.exception() if future.status == "error" else None
        if isinstance(error, InputError):
            raise error  # such as a worker's machine without a sandbox
        if error is not None:
            return Result(sent.task, None, f"{type(error).__name__} on the cluster: {error}", TRIES)
        try:
            answer: Answer = future.result(timeout=ANSWER_SECONDS)
        except (OSError, TimeoutError, CancelledError):  # it was lost on its way here
            self._expect_cluster()
            self._again.append(sent.task)
            return None
        if not answer.is_prepared:  # it was started anew under its old address
            self._used.clear()  # so that all are prepared again
            self._again.append(sent.task)
            return None
        return Result(sent.task, answer.report, answer.fault, answer.tries)

    def _look_again(self, watcher: Watcher) -> None:
        """See which workers there are; what waits for lost ones alone is sent anew."""
        self._look(watcher)
        if not self._used:
            self._wait_for_workers(watcher)
        for future, sent in list(self._sent.items()):
            if not future.done() and not sent.workers & self._used.keys():
                del self._sent[future]
                future.cancel()
                self._again.append(sent.task)

    def _wait_for_workers(self, watcher: Watcher) -> None:
        """Wait until there is a worker that can be used.

        Raises:
            InputError: there is none for long, or none of this version.
        """
        deadline = time.monotonic() + WORKERS_SECONDS
        is_told = False
        self._look(watcher)
        while not self._used:
            if self._refused and (not self._was_used or time.monotonic() > deadline):
                raise InputError(
                    f"No worker at {self._address} has this grader: install {grader_version()} "
                    "there."
                )
            if time.monotonic() > deadline:
                raise InputError(f"The cluster at {self._address} has no workers: start some.")
            if not is_told:
                watcher.told(f"The cluster at {self._address} has no workers yet: waiting.")
                is_told = True
            time.sleep(0.5)
            self._look(watcher)

    def _look(self, watcher: Watcher) -> None:
        """See which workers there are, and have new ones prepared."""
        self._looked = time.monotonic()
        try:
            threads, found = _within(ANSWER_SECONDS, self._survey)
        except (OSError, TimeoutError, ValueError):
            self._expect_cluster()
            return  # a worker went away meanwhile: the next look will tell
        self._refused &= threads.keys()
        for address, version in found.items():
            if version == grader_version():
                continue
            told = version if isinstance(version, str) else f"no such grader ({version})"
            watcher.told(
                f"The worker {address} is not used: it has {told}, not {grader_version()}."
            )
            self._refused.add(address)
        self._used = {
            address: count for address, count in threads.items()
            if address not in self._refused and (address in self._used or address in found)
        }  # fmt: skip
        self._was_used = self._was_used or bool(self._used)

    def _survey(self) -> tuple[dict[str, int], dict[str, Any]]:
        """The workers, each with its threads, and what new ones say that are prepared."""
        threads: dict[str, int] = self._client.nthreads()
        new = [a for a in threads if a not in self._used and a not in self._refused]
        if not new:
            return threads, {}
        return threads, self._client.run(
            prepare, self._key, self._setup, workers=new, on_error="return"
        )

    def _expect_cluster(self) -> None:
        """Raise InputError where the cluster is gone."""
        if self._client.status != "running":
            raise InputError(
                f"The cluster at {self._address} is gone: what is finished is kept, and the same "
                "command goes on from there."
            )

    def close(self) -> None:
        """Have the workers end their lanes, and leave the cluster."""
        try:
            _within(ANSWER_SECONDS, self._leave)
        except (OSError, TimeoutError, ValueError):
            pass  # the workers are gone, and their lanes with them

    def _leave(self) -> None:
        try:
            for future in list(self._sent):
                future.cancel()
            if self._client.status == "running" and self._used:
                self._client.run(forget, self._key, workers=list(self._used), on_error="ignore")
        finally:
            self._client.close(timeout=5)


def _connect(address: str) -> Any:
    """A client of the cluster; raises InputError."""
    try:
        from distributed import Client
    except ImportError:
        raise InputError(
            "--cluster needs dask: install it with `pip install 'transformer-grader[cluster]'`."
        ) from None
    for name in ("distributed", "asyncio", "tornado"):  # what they say is said in a sentence here
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)

    def connect() -> Any:
        try:
            return Client(  # type: ignore[no-untyped-call]
                address, timeout=CONNECT_SECONDS, set_as_default=False
            )
        except Exception as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        # A client that could not connect is ended by its finaliser alone, which waits for good
        # where it runs while another client starts: so it runs now.
        gc.collect()
        raise InputError(f"The cluster at {address} cannot be reached: {reason}.")

    # dask's own limit is for connecting, and something else may listen there and say nothing.
    try:
        return _within(2 * CONNECT_SECONDS, connect)
    except TimeoutError:
        raise InputError(
            f"The cluster at {address} cannot be reached: what listens there is no scheduler."
        ) from None


def _within(seconds: float, call: Callable[[], T]) -> T:
    """What a call returns or raises, or TimeoutError where it takes longer; it then goes on."""
    found: Future[T] = Future()

    def run() -> None:
        try:
            found.set_result(call())
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return found.result(seconds)


# on a worker


_setups: dict[str, Setup] = {}
_lanes: dict[tuple[str, int], Lane] = {}  # by key and thread
_lock = threading.Lock()


def prepare(key: str, setup: Setup) -> str:
    """Have this process know how to grade; returns its grader's version.

    Args:
        key: of the run.
        setup: how its tasks are graded.
    """
    with _lock:
        _setups[key] = setup
    return grader_version()


def grade_there(key: str, task: Task) -> Answer:
    """Grade a task in the lane of this thread, which its first task starts.

    Raises:
        InputError: nothing can be graded on this machine, as where there is no sandbox.
    """
    with _lock:
        setup = _setups.get(key)
    if setup is None:
        return Answer(is_prepared=False)
    fault = ""
    for tries in range(1, TRIES + 1):
        try:
            return Answer(_lane(key, setup).grade(task), tries=tries)
        except LaneBroken as error:
            fault = str(error)
            _end(key, threading.get_ident())
        except InputError:
            raise
        except GraderError as error:
            return Answer(fault=str(error), tries=tries)
    return Answer(fault=fault, tries=TRIES)


def _lane(key: str, setup: Setup) -> Lane:
    with _lock:
        place = (key, threading.get_ident())
        lane = _lanes.get(place)
        if lane is None:
            lane = _lanes[place] = Lane(setup)
    return lane


def _end(key: str, thread: int) -> None:
    with _lock:
        lane = _lanes.pop((key, thread), None)
    if lane is not None:
        lane.close()


def forget(key: str) -> None:
    """End the lanes of a run."""
    with _lock:
        _setups.pop(key, None)
        threads = [thread for of, thread in _lanes if of == key]
    for thread in threads:
        _end(key, thread)
