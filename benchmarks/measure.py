"""What the benchmarks share: times of commands, how they spread, and memory of processes."""

import os
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
GRADER = [sys.executable, "-m", "grader"]
MB = 2**20


def timed(
    command: list[str],
    cwd: Path,
    codes: tuple[int, ...] = (0,),
    env: dict[str, str] | None = None,
) -> float:
    """Seconds that a command takes; it must end with one of the exit codes."""
    begun = time.perf_counter()
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env=env)
    if result.returncode not in codes:
        sys.exit(f"{command} failed:\n{result.stdout}{result.stderr}")
    return time.perf_counter() - begun


def spread(values: list[float], unit: str) -> str:
    """Median, and the range where there are several."""
    shown = f"{statistics.median(values):.2f} {unit}"
    return shown if len(values) == 1 else f"{shown} ({min(values):.2f} to {max(values):.2f})"


def evenly(items: list[Path], count: int) -> list[Path]:
    """So many of the items, in their order, from all over."""
    count = min(count, len(items))
    return [items[place * len(items) // count] for place in range(count)]


def submissions_in(folders: Iterable[Path]) -> list[Path]:
    """The submissions of folders of the corpus: modules, notebooks and folders."""
    found = [path for folder in folders for path in sorted(folder.iterdir())]
    return [path for path in found if path.is_dir() or path.suffix in (".py", ".ipynb")]


class Sample(NamedTuple):
    """The memory of each kind of process at one moment, in bytes."""

    at: float  # as time.time()
    of: Counter[str]
    count: Counter[str]

    @property
    def total(self) -> int:
        """Of all kinds together."""
        return sum(self.of.values())


class Memory:
    """Samples the memory of a process's descendants while it is open; Linux only.

    A process that may not be looked at counts nothing: as root all may.

    Args:
        of: the process, which counts itself where it is another than this one.
        every: seconds between samples.
    """

    def __init__(self, of: int | None = None, every: float = 0.1) -> None:
        self.samples: list[Sample] = []
        self._of = of
        self._every = every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    @property
    def peak(self) -> int:
        """The most that all took together."""
        return max((sample.total for sample in self.samples), default=0)

    def __enter__(self) -> "Memory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(self._every):
            sample = Sample(time.time(), Counter(), Counter())
            for pid in [*([self._of] if self._of else []), *descendants(self._of)]:
                size = proportional(pid)
                if size:
                    kind = kind_of(pid)
                    sample.of[kind] += size
                    sample.count[kind] += 1
            self.samples.append(sample)


def kind_of(pid: int) -> str:
    """Which of the grader's processes it is, by its command and its parent's."""
    command = _command(pid)
    if "zygote.py" in command:
        # What a zygote forks has its command; the first process of a namespace is a worker's.
        return "workers" if "zygote.py" in _command(_parent(pid)) else "zygotes"
    if "grader.batch.lane" in command:
        return "lanes"
    return "readers" if "intake" in command else "main"


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""  # it has ended


def _parent(pid: int) -> int:
    """The parent's id; 0 where the process has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return int(fields[1])


def descendants(of: int | None = None) -> list[int]:
    """The processes below one, by default this one."""
    parents = dict(_parents())
    found = [pid for pid, parent in parents.items() if parent == (of or os.getpid())]
    for pid in found:
        found.extend(child for child, parent in parents.items() if parent == pid)
    return found


def _parents() -> Iterator[tuple[int, int]]:
    for path in Path("/proc").glob("[0-9]*"):
        if parent := _parent(int(path.name)):
            yield int(path.name), parent


def proportional(pid: int) -> int:
    """A process's proportional set size in bytes; shared pages count by their share."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
