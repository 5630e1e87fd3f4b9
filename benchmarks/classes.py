"""What grading a class costs, as ratios measured side by side in one run.

    python benchmarks/classes.py [--only PARTS] [--size 200] [--many 2000] [--killed 400] …

The classes are made of this project's own right and wrong submissions of multi_head_attention;
where there are not enough, copies differ by a comment. First all of them are graded once, to leave
out those that take 5 s or more, which are the ones that wait for a time limit; they are listed.

(a) submissions a minute of one `grader grade`, with as many lanes as cores, its start included;
(b) beside a fresh pytest process for each submission, which runs the same checks with the
    submission imported into itself (`in_process.py`), two at a time, on every tenth submission;
(c) lane-seconds of a submission beside the same student calls alone, in one warm process
    (`replay.py` says what is timed), also for encoder_classifier, which trains;
(d) two lanes beside one, their start excluded;
(e) whether speed and memory stay as they are over a class of thousands;
(f) the same command again with nothing changed, and after everything was killed half-way.
"""

import argparse
import json
import os
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from measure import (
    GRADER,
    MB,
    ROOT,
    Memory,
    Sample,
    descendants,
    evenly,
    spread,
    submissions_in,
    timed,
)

HERE = Path(__file__).resolve().parent
CORPUS = ROOT / "tests" / "submissions"
ATTENTION, TRAINING = "multi_head_attention", "encoder_classifier"
SLOW = 5.0  # seconds of a grading from which a submission waits for a limit
EVERY = 10  # of the class one is in the sample of (b) and (c)
AT_A_TIME = 2  # fresh processes
POLL = 0.2  # seconds
PARTS = "abcdef"


class Bench:
    """The folders of a run, and the submissions that classes are made of.

    Args:
        folder: a temporary one.
        options: from the command line.
    """

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.folder = folder
        self.options = options
        self.env = {**os.environ, "TMPDIR": str(folder / "tmp")}  # what is killed leaves files
        (folder / "tmp").mkdir()
        self._runs = self._classes = 0
        self.usable: list[Path] = []

    def new_out(self) -> Path:
        """A folder for results that is not there yet."""
        self._runs += 1
        return self.folder / "out" / str(self._runs)

    def command(
        self, paths: list[Path], out: Path, jobs: int | None = None, assignment: str = ATTENTION
    ) -> list[str]:
        """The command that grades."""
        lanes = [] if jobs is None else ["--jobs", str(jobs)]
        return [*GRADER, "grade", *map(str, paths), "--assignment", assignment,
                "--out", str(out), *lanes]  # fmt: skip

    def grade(
        self,
        paths: list[Path],
        out: Path | None = None,
        jobs: int | None = None,
        assignment: str = ATTENTION,
    ) -> float:
        """Seconds that one `grader grade` takes."""
        command = self.command(paths, out or self.new_out(), jobs, assignment)
        return timed(command, ROOT, env=self.env)

    def choose(self, size: int) -> None:
        """Grade up to so many submissions of the corpus, and keep those that are not slow."""
        chosen = evenly(
            submissions_in(CORPUS / ATTENTION / kind for kind in ("right", "wrong")), size
        )
        out = self.new_out()
        self.grade(self.folders_of(chosen), out)
        seconds = {row["file"]: row["seconds"] for row in gradings(out)}
        self.usable = [path for path in chosen if seconds[path.name] < SLOW]
        print(f"{len(chosen)} submissions of {ATTENTION}, right and wrong", end="")
        print(", all of which take less than 5 s" if len(self.usable) == len(chosen) else "")
        for path in chosen:
            if seconds[path.name] >= SLOW:
                print(
                    f"    left out: {path.parent.name}/{path.name} takes {seconds[path.name]:.1f} s"
                )

    def make_class(self, size: int) -> list[Path]:
        """Folders that hold so many submissions together, copies of the usable ones."""
        rounds, rest = divmod(size, len(self.usable))
        return self.folders_of([*self.usable * rounds, *self.usable[:rest]])

    def folders_of(self, submissions: list[Path]) -> list[Path]:
        """Folders whose children are those submissions, under their names; copies are varied."""
        self._classes += 1
        made = self.folder / "classes" / str(self._classes)
        for path in submissions:
            number = 0
            while (made / str(number) / path.name).exists():
                number += 1
            copy_varied(path, made / str(number), number)
        return sorted(made.iterdir(), key=lambda folder: int(folder.name))


def copy_varied(path: Path, into: Path, number: int) -> None:
    """Copy a submission; a copy after the first differs from it by a comment, or a blank."""
    into.mkdir(parents=True, exist_ok=True)
    target = into / path.name
    if path.is_dir():
        shutil.copytree(path, target)
    else:
        shutil.copy(path, target)
    if number:
        file = min(target.rglob("*.py")) if path.is_dir() else target
        with open(file, "ab") as end:
            end.write(b" " * number if path.suffix == ".ipynb" else f"\n# copy {number}\n".encode())


def gradings(out: Path) -> list[dict[str, Any]]:
    """The rows of a store, in the order in which they were finished."""
    query = (
        "SELECT g.submission, s.file, g.score, g.seconds, g.finished "
        "FROM gradings g JOIN submissions s ON s.submission = g.submission ORDER BY g.number"
    )
    with closing(sqlite3.connect(out / "gradebook.sqlite")) as store:
        store.row_factory = sqlite3.Row
        rows = [dict(row) for row in store.execute(query)]
    for row in rows:
        row["finished"] = datetime.fromisoformat(row["finished"]).timestamp()
    return rows


def whole_class(bench: Bench) -> None:
    """(a) and (b)."""
    folders = bench.make_class(bench.options.size)
    out = bench.new_out()
    seconds = bench.grade(folders, out)
    rows = gradings(out)
    rate = 60 * len(rows) / seconds
    print(f"(a) a class of {len(rows)} varied submissions, {os.cpu_count()} cores")
    print(f"    grader grade                {rate:.1f} a minute ({seconds:.0f} s, start included)")
    if "b" not in bench.options.only:
        return
    sample = submissions_in(folders)[::EVERY]
    scores: dict[str, set[Decimal]] = {}
    for row in rows:
        scores.setdefault(row["file"], set()).add(Decimal(row["score"]))
    begun = time.perf_counter()
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        results = list(pool.map(lambda path: in_process(path, bench.env), sample))
    fresh = 60 * len(sample) / (time.perf_counter() - begun)
    same = sum(got in scores[path.name] for got, path in zip(results, sample, strict=True))
    print(f"(b) beside a fresh pytest process for each, same checks, {AT_A_TIME} at a time")
    print(f"    fresh processes             {fresh:.1f} a minute, on {len(sample)} of them")
    print(f"    same score from both        {same} of {len(sample)}")
    print(f"    ratio                       {rate / fresh:.1f}×   (aim: at least 12×)")


def in_process(path: Path, env: dict[str, str]) -> Decimal | None:
    """The score of a submission that a fresh process of its own grades; None where it fails."""
    command = [sys.executable, str(HERE / "in_process.py"), ATTENTION, str(path)]
    result = subprocess.run(
        command, cwd=path.parent, env=env, capture_output=True, text=True, check=False
    )
    last = (result.stdout.splitlines() or [""])[-1]
    return Decimal(last.removeprefix("score ")) if last.startswith("score ") else None


def floor(bench: Bench) -> None:
    """(c)."""
    folders = bench.make_class(bench.options.size)
    sample = submissions_in(folders)[::EVERY]
    beside_floor(bench, ATTENTION, sample, "3×")
    right = evenly(submissions_in([CORPUS / TRAINING / "right"]), bench.options.trained)
    beside_floor(bench, TRAINING, right, "1.3×")


def beside_floor(bench: Bench, assignment: str, sample: list[Path], aim: str) -> None:
    """Lane-seconds of a submission and those of its calls alone: one lane and one process."""
    recorded = bench.folder / "recorded" / assignment
    kept = record(assignment, sample, recorded)
    if len(kept) < 2:
        print(f"(c) {assignment}: too few submissions")
        return
    trains = ["--trains"] if assignment == TRAINING else []
    command = [sys.executable, str(HERE / "replay.py"), str(recorded), *trains]
    folders = bench.folders_of(kept)
    lane: list[float] = []
    wall: list[float] = []
    cpu: list[float] = []
    worker: list[float] = []
    odd: set[str] = set()
    for _ in range(bench.options.rounds):
        result = subprocess.run(command, env=bench.env, capture_output=True, text=True, check=False)
        if result.returncode:
            sys.exit(f"{command} failed:\n{result.stderr}")
        # The first counts in neither: the grader's start ends with it.
        _, *replayed = [json.loads(line) for line in result.stdout.splitlines()]
        wall.append(statistics.mean(row["wall"] for row in replayed))
        cpu.append(statistics.mean(row["cpu"] for row in replayed))
        worker.append(statistics.mean(row["worker"] for row in replayed))
        calls = statistics.mean(row["calls"] for row in replayed)
        odd |= {row["name"] for row in replayed if not row["agrees"]}
        out = bench.new_out()
        bench.grade(folders, out, jobs=1, assignment=assignment)
        times = [
            row["finished"] for row in gradings(out)
        ]  # from the first on, so without the start
        lane.append((times[-1] - times[0]) / (len(kept) - 1))
    ratios = [each / base for each, base in zip(lane, wall, strict=True)]
    print(f"(c) {assignment}: a submission's lane-seconds beside its calls alone")
    print(f"    sample                      {len(kept)} submissions, {calls:.0f} requests each")
    if len(kept) < len(sample):
        print(f"    left out                    {len(sample) - len(kept)}: a call came to no end")
    if odd:
        print(f"    other calls raised          in {', '.join(sorted(odd))}")
    print(f"    one lane                    {spread(lane, 's')}")
    print(f"    calls alone                 {spread(wall, 's')}, processor {spread(cpu, 's')}")
    print(f"    as a worker answers them    {spread(worker, 's')}")
    print(f"    ratio                       {spread(ratios, '×')}   (aim: at most {aim})")


def record(assignment: str, sample: list[Path], into: Path) -> list[Path]:
    """Grade submissions, and write what their workers were sent; returns those that can be."""
    sys.path.insert(0, str(ROOT))
    from replay import Recorder

    from grader.assignment import load_assignment
    from grader.grading import Grader
    from grader.intake import Reading

    kept = []
    with Recorder() as recorder, Reading() as reading:
        grader = Grader(load_assignment(assignment), recorder)
        for number, path in enumerate(sample):
            grader.grade(reading.read(path, path.name), path.name)
            if recorder.write(into, f"{number:03}_{path.name}"):
                kept.append(path)
    return kept


def scaling(bench: Bench) -> None:
    """(d): lanes in turn, each less a class of one with as many lanes."""
    folders = bench.make_class(bench.options.scaled)
    first = {jobs: bench.folders_of(bench.usable[:jobs]) for jobs in (1, 2)}  # one for each lane
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(bench.options.rounds):
        for jobs, values in seconds.items():
            start = bench.grade(first[jobs], jobs=jobs)
            values.append(bench.grade(folders, jobs=jobs) - start)
    each = {
        jobs: [value / (bench.options.scaled - jobs) for value in values]
        for jobs, values in seconds.items()
    }
    ratios = [one / two for one, two in zip(each[1], each[2], strict=True)]
    print(f"(d) two lanes beside one, a class of {bench.options.scaled}, start excluded")
    for jobs in each:
        print(f"    {jobs} lane{'s' * (jobs > 1):<24}{spread(each[jobs], 's')} a submission")
    print(f"    ratio                       {spread(ratios, '×')}   (aim: at least 1.8×)")


def many(bench: Bench) -> None:
    """(e), and of (f) the same command again."""
    size = bench.options.many
    folders, out = bench.make_class(size), bench.new_out()
    process = start(bench, folders, out)
    with Memory(process.pid, every=bench.options.every) as memory:
        process.wait()
    expect_good_end(process, folders)
    times = [row["finished"] for row in gradings(out)]
    quarter = max(1, len(times) // 4)
    early = 60 * (quarter - 1) / (times[quarter - 1] - times[0])
    late = 60 * (quarter - 1) / (times[-1] - times[-quarter])
    whole = 60 * (len(times) - 1) / (times[-1] - times[0])
    print(f"(e) a class of {size}: whether it stays as fast and as small")
    print(f"    all                         {whole:.1f} a minute")
    print(f"    first quarter               {early:.1f} a minute")
    print(f"    last quarter                {late:.1f} a minute, ratio {late / early:.2f}")
    print_memory(memory.samples, times)
    if "f" not in bench.options.only:
        return
    again = bench.grade(folders, out)
    count = len(gradings(out))
    print("(f) the same command again, nothing changed")
    print(f"    {size} submissions{'':<{16 - len(str(size))}}{again:.1f} s   (aim: below 10 s)")
    print(f"    graded again                {count - size}   (aim: 0)")


def print_memory(samples: list[Sample], times: list[float]) -> None:
    """Memory of each kind of process: medians around some moments, and the peak of each."""
    begun, length = times[0], times[-1] - times[0]
    moments = {"at 1/4": 0.25, "at 1/2": 0.5, "at 3/4": 0.75, "at the end": 0.95}
    columns: dict[str, list[Sample]] = {}
    for name, share in moments.items():
        around = [s for s in samples if abs((s.at - begun) / length - share) <= 0.05]
        columns[name] = around or [min(samples, key=lambda s: abs(s.at - begun - share * length))]
    print(
        f"    {'memory, MB':<16}{'processes':>10}{''.join(f'{n:>12}' for n in columns)}{'peak':>12}"
    )
    kinds = ["main", "lanes", "zygotes", "workers", "readers"]
    for kind in [*kinds, "all"]:

        def size(sample: Sample, kind: str = kind) -> float:
            return (sample.total if kind == "all" else sample.of[kind]) / MB

        number = max(s.count.total() if kind == "all" else s.count[kind] for s in samples)
        shown = [statistics.median(map(size, around)) for around in columns.values()]
        row = "".join(f"{value:>12.0f}" for value in [*shown, max(map(size, samples))])
        print(f"    {kind:<16}{number:>10}{row}")
    print("    (proportional set size; a worker's forked processes count one each)")


def killed(bench: Bench) -> None:
    """(f): everything is killed half-way, and the same command goes on."""
    size = bench.options.killed
    folders, out = bench.make_class(size), bench.new_out()
    begun = time.perf_counter()
    process = start(bench, folders, out)
    while count_rows(out) < size // 2 and process.poll() is None:
        time.sleep(POLL)
    tree = [process.pid, *descendants(process.pid)]
    for pid in tree:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has ended by itself
    process.wait()
    before, until = count_rows(out), time.perf_counter() - begun
    again = bench.grade(folders, out)
    rows = gradings(out)
    reports = sum(1 for _ in (out / "reports").glob("*.json"))
    names = {row["submission"] for row in rows}
    print(
        f"(f) a class of {size}, all {len(tree)} processes killed half-way, and the command again"
    )
    print(f"    until then                  {before} graded in {until:.1f} s")
    print(f"    the rest                    {len(rows) - before} in {again:.1f} s")
    print(f"    lost                        {size - min(len(names), reports)}   (aim: 0)")
    print(f"    graded twice                {len(rows) - len(names)}   (aim: 0)")


def start(bench: Bench, folders: list[Path], out: Path) -> subprocess.Popen[bytes]:
    """Start grading; what it says is kept in a file, for where it fails."""
    with open(bench.folder / "said", "wb") as said:
        return subprocess.Popen(
            bench.command(folders, out), cwd=ROOT, env=bench.env, stdout=said, stderr=said
        )


def expect_good_end(process: subprocess.Popen[bytes], folders: list[Path]) -> None:
    """Exit where a grading failed."""
    if process.returncode:
        sys.exit(f"grading {folders[0].parent} ended with {process.returncode}")


def count_rows(out: Path) -> int:
    """How many gradings a store holds; 0 where it is not there yet."""
    if not (out / "gradebook.sqlite").exists():
        return 0
    try:
        with closing(sqlite3.connect(out / "gradebook.sqlite")) as store:
            (count,) = store.execute("SELECT count(*) FROM gradings").fetchone()
    except sqlite3.OperationalError:
        return 0  # it has no tables yet
    return int(count)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--only", default=PARTS, help="the parts to run, such as `acd`")
    add("--rounds", type=int, default=3, help="of (c) and (d)")
    add("--size", type=int, default=200, help="submissions of (a); a tenth of them in (b) and (c)")
    add("--trained", type=int, default=10, help="submissions of (c) that train")
    add("--scaled", type=int, default=60, help="submissions of (d)")
    add("--many", type=int, default=2000, help="submissions of (e), and of (f) again")
    add("--killed", type=int, default=400, help="submissions of (f) when killed")
    add("--every", type=float, default=2.0, help="seconds between samples of memory in (e)")
    options = parser.parse_args()
    options.only = set(options.only)
    if "b" in options.only:
        options.only.add("a")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        bench = Bench(Path(folder), options)
        bench.choose(options.size)
        parts = {"a": whole_class, "c": floor, "d": scaling, "e": many, "f": killed}
        for name, part in parts.items():
            if name in options.only:
                part(bench)


if __name__ == "__main__":
    main()
