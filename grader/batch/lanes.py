"""Grades a class on the cores of this machine, each with a lane of its own."""

import queue
import threading
from collections.abc import Iterator

from grader.batch.executor import Executor, Result, Task
from grader.batch.lane import Lane, LaneBroken, Setup
from grader.batch.watcher import Watcher
from grader.errors import GraderError

TRIES = 2  # of a submission whose lane breaks


class Lanes(Executor):
    """Hands tasks to lanes as they come free; each starts with its first task.

    A lane that breaks is replaced, and what it was at is tried once more.

    Args:
        setup: how they grade.
        width: how many.
    """

    def __init__(self, setup: Setup, width: int) -> None:
        self.width = width
        self._setup = setup
        self._todo: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Result | Exception] = queue.SimpleQueue()
        self._lanes: dict[int, Lane] = {}
        self._lock = threading.Lock()
        self._is_closed = False

    def run(self, tasks: Iterator[Task], watcher: Watcher) -> Iterator[Result]:
        """Grade tasks in the lanes; see `Executor.run`."""
        for number in range(self.width):
            # Daemons, since one may wait for a lane that close() is about to end.
            threading.Thread(target=self._work, args=(number, watcher), daemon=True).start()
        waiting = 0
        for task in tasks:
            self._todo.put(task)
            waiting += 1
            while waiting > self.width:  # one more than lanes, so that none waits for its next
                yield self._next()
                waiting -= 1
        for _ in range(waiting):
            yield self._next()
        for _ in range(self.width):
            self._todo.put(None)

    def _next(self) -> Result:
        result = self._done.get()
        if isinstance(result, Exception):
            raise result
        return result

    def _work(self, number: int, watcher: Watcher) -> None:
        """Grade in one lane until there is nothing to do."""
        while (task := self._todo.get()) is not None:
            watcher.begun(task.id)
            try:
                self._done.put(self._grade(number, task))
            except Exception as error:  # it can grade nothing, or the grader is at fault
                self._done.put(error)
                return

    def _grade(self, number: int, task: Task) -> Result:
        fault = ""
        for tries in range(1, TRIES + 1):
            try:
                return Result(task, self._lane(number, tries == TRIES).grade(task), tries=tries)
            except LaneBroken as error:
                fault = str(error)
                self._end(number)
        return Result(task, None, fault, TRIES)

    def _lane(self, number: int, is_last: bool) -> Lane:
        """The lane of that number, started when it is not there.

        Raises:
            LaneBroken: it does not start; GraderError if this is the last try.
        """
        with self._lock:
            if self._is_closed:
                raise LaneBroken("the lanes are closed")
            lane = self._lanes.get(number)
            if lane is None:
                lane = self._lanes[number] = Lane(self._setup)
        try:
            lane.wait_until_ready()
        except LaneBroken as error:
            if is_last:  # no submission's fault: none was there yet
                raise GraderError(
                    f"no process that grades could be started: {error}. With too little memory, "
                    "fewer --jobs help"
                ) from None
            raise
        return lane

    def _end(self, number: int) -> None:
        with self._lock:
            lane = self._lanes.pop(number, None)
        if lane is not None:
            lane.close()

    @property
    def pids(self) -> list[int]:
        """The processes of the lanes that there are."""
        with self._lock:
            return [lane.pid for lane in self._lanes.values()]

    def close(self) -> None:
        """End the lanes, whatever they are at."""
        with self._lock:
            self._is_closed = True
        for number in list(self._lanes):
            self._end(number)
        for _ in range(self.width):
            self._todo.put(None)
