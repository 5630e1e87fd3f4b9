"""What a person sees while a class is graded: a bar on a terminal, plain lines elsewhere."""

import threading
import time

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

from grader.batch import ClassRow, Count, Watcher
from grader.batch.terminal import class_line
from grader.report.terminal import printable

RUNNING = 2  # submissions that are named while they run


class ClassProgress(Watcher):
    """Shows how far a class is. Use it in a `with` statement.

    Args:
        console: where to; a bar is drawn where it is a terminal.
        total: how many submissions there are.
    """

    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        self._total = total
        self._lock = threading.Lock()
        self._running: list[str] = []
        self._first: float | None = None  # when grading began, which is after the start-up
        self._count = Count()
        self._bar: Progress | None = None
        if console.is_terminal:
            self._bar = Progress(
                SpinnerColumn(),
                BarColumn(bar_width=20),
                TextColumn("{task.description}", markup=False),
                console=console,
                transient=True,
            )
            self._task = self._bar.add_task(self._told(), total=total)

    @property
    def done(self) -> int:
        """How many have a report."""
        return self._count.finished

    def begun(self, submission: str) -> None:
        """Name a submission among those that run."""
        with self._lock:
            self._first = self._first or time.monotonic()
            self._running.append(submission)
            self._update()

    def finished(self, row: ClassRow) -> None:
        """Count a submission; what was graded now gets a line."""
        with self._lock:
            if row.id in self._running:
                self._running.remove(row.id)
            self._count.add(row)
            if row.is_new:
                width = len(str(self._total))
                self._print(f"[{self.done:>{width}}/{self._total}] {class_line(row)}")
            self._update()

    def told(self, sentence: str) -> None:
        """Print what whoever runs it should know."""
        self._print(printable(sentence))

    def _print(self, text: str) -> None:
        try:
            self._console.print(text, markup=False, soft_wrap=True)
        except OSError:
            pass  # whoever read it has gone, which is no reason to stop grading

    def __enter__(self) -> "ClassProgress":
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _update(self) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done, description=self._told())

    def _told(self) -> str:
        """Done, failed, rate, time left, and what runs."""
        parts = [f"{self.done}/{self._total}"]
        count = self._count
        if count.kept:
            parts.append(f"{count.kept} unchanged")
        if count.refused or count.errors:
            parts.append(f"{count.refused + count.errors} not graded")
        if count.graded and self._first is not None:
            each = (time.monotonic() - self._first) / count.graded
            left = each * (self._total - self.done)
            parts.append(f"{60 / each:.0f} a minute, {duration(left)} left")
        running = [printable(name) for name in self._running]
        if running:
            more = f" and {len(running) - RUNNING} more" if len(running) > RUNNING else ""
            parts.append(", ".join(running[:RUNNING]) + more)
        return " · ".join(parts)


def duration(seconds: float) -> str:
    """Seconds as a person says them: "40 s", "3 min", "2 h 10 min"."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
