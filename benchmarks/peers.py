"""How fast other graders of notebooks are on the same submissions, side by side in one run.

    python benchmarks/peers.py [--number 30] [--rounds N] [--venvs FOLDER]

otter-grader and nbgrader are installed from the package index, each into a virtual environment of
its own, which sees this interpreter's torch. The submissions are right ones of
multi_head_attention, each as a notebook of one cell. The other graders run the 33 checks of
`plain_checks.py` on them, plain versions of the real ones with about two thirds of their calls;
this one runs its own 41. What is not compared, since they have no such thing: known weights of any
layout, counted operations, mistakes by name, and sandboxes.

- otter-grader's `otter grade` needs Docker; `otter run` grades one submission without. It is run
  for as many at a time as there are cores.
- nbgrader's `nbgrader autograde` grades the whole class, one submission after the other; two of it
  cannot share a gradebook. So the ratio to one lane is given, too.

All of them run on one thread each. One that cannot be installed is left out.
"""

import argparse
import importlib.metadata
import inspect
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import FunctionType

import nbformat
import plain_checks
from measure import GRADER, ROOT, evenly, spread, timed
from nbformat import v4

CORPUS = ROOT / "tests" / "submissions" / "multi_head_attention" / "right"
ASSIGNMENT = "mha"
NOTEBOOK = "submission.ipynb"
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
IMPORTS = "from typing import Any\nimport torch\nfrom torch.nn import functional as F\n"
PACKAGES = {"otter": ["otter-grader", "ipykernel"], "nbgrader": ["nbgrader"]}
AIM = "(aim: at least 10×)"


def functions() -> tuple[str, dict[str, str]]:
    """The source of what the plain checks share, and of each of them by name."""
    found = {
        name: inspect.getsource(value)
        for name, value in vars(plain_checks).items()
        if isinstance(value, FunctionType)
    }
    checks = {name: text for name, text in found.items() if name.startswith("check_")}
    common = [text for name, text in found.items() if name not in checks]
    return "\n\n".join([IMPORTS, *common]), checks


class Peer:
    """Another grader, installed into a virtual environment.

    Args:
        name: its command.
        venvs: the folder of virtual environments.
        folder: for its class.
    """

    name = ""

    def __init__(self, venvs: Path, folder: Path) -> None:
        self.place = venvs / self.name
        self.folder = folder / self.name
        self.folder.mkdir()
        home = self.folder / "home"
        home.mkdir()
        self.env = {
            **{name: os.environ[name] for name in ("TMPDIR", "LANG") if name in os.environ},
            "PATH": os.pathsep.join([str(self.place / "bin"), os.defpath]),
            "HOME": str(home),
            "OMP_NUM_THREADS": "1",
        }

    def install(self) -> str | None:
        """Install it where it is not yet; returns why it cannot be, or None."""
        python = self.place / "bin" / "python"
        if not (self.place / "bin" / self.name).exists():
            venv.create(self.place, with_pip=True)
            result = subprocess.run(
                [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                 *PACKAGES[self.name]],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if result.returncode:
                return (result.stderr.strip().splitlines() or ["pip failed"])[-1]
        import torch

        (packages,) = (self.place / "lib").glob("python*/site-packages")
        (packages / "torch_of_others.pth").write_text(f"{Path(torch.__file__).parents[1]}\n")
        return None

    @property
    def version(self) -> str:
        """The version that was installed."""
        (packages,) = (self.place / "lib").glob("python*/site-packages")
        found = importlib.metadata.distributions(name=PACKAGES[self.name][0], path=[str(packages)])
        return next(iter(found)).version

    def prepare(self, sources: dict[str, str]) -> None:
        """Make the assignment and its class, by name."""
        raise NotImplementedError

    def grade(self) -> float:
        """Seconds that grading the class takes."""
        raise NotImplementedError

    def shares(self) -> list[float]:
        """Of each submission that was graded, which part of its points it got."""
        raise NotImplementedError

    def _run(self, *command: str) -> float:
        return timed(
            [str(self.place / "bin" / command[0]), *command[1:]], self.folder, env=self.env
        )


class Otter(Peer):
    """otter-grader, without Docker."""

    name = "otter"

    def prepare(self, sources: dict[str, str]) -> None:
        """Make the archive with the tests, and notebooks."""
        common, checks = functions()
        tests = self.folder / "tests"
        tests.mkdir()
        for name, text in checks.items():
            (tests / f"{name}.py").write_text(
                "OK_FORMAT = False\nfrom otter.test_files import test_case\n"
                f"{common}\n\n{text}\n\nname = {name!r}\npoints = 1\n\n\n@test_case()\n"
                f"def test_it(env):\n    {name}(env)\n"
            )
        self._run("otter", "generate", "-t", "tests", "-o", "autograder.zip")
        self.names = list(sources)
        for name, text in sources.items():
            write_notebook(self.folder / f"{name}.ipynb", [v4.new_code_cell(text)])

    def grade(self) -> float:
        """Grade them, as many at a time as there are cores."""
        for name in self.names:
            (self.folder / "out" / name).mkdir(parents=True, exist_ok=True)

        def run(name: str) -> float:
            return self._run("otter", "run", "-a", "autograder.zip", "-o", f"out/{name}",
                             "--no-logo", f"{name}.ipynb")  # fmt: skip

        begun = time.perf_counter()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(run, self.names))
        return time.perf_counter() - begun

    def shares(self) -> list[float]:
        """From each one's results."""
        found = []
        for path in sorted((self.folder / "out").glob("*/results.json")):
            rows = [row for row in json.loads(path.read_text())["tests"] if "max_score" in row]
            found.append(sum(r["score"] for r in rows) / sum(r["max_score"] for r in rows))
        return found


class Nbgrader(Peer):
    """nbgrader."""

    name = "nbgrader"

    def prepare(self, sources: dict[str, str]) -> None:
        """Make the source notebook, generate the assignment from it, and hand in for everybody."""
        stub = "### BEGIN SOLUTION\n### END SOLUTION"
        write_notebook(self.folder / "source" / ASSIGNMENT / NOTEBOOK, self._cells(stub))
        self._run("nbgrader", "generate_assignment", ASSIGNMENT)
        for name, text in sources.items():
            place = self.folder / "submitted" / name / ASSIGNMENT / NOTEBOOK
            write_notebook(place, self._cells(text))

    def grade(self) -> float:
        """Grade them all with one command."""
        return self._run("nbgrader", "autograde", ASSIGNMENT, "--force")

    def shares(self) -> list[float]:
        """From its gradebook."""
        with closing(sqlite3.connect(self.folder / "gradebook.db")) as book:
            rows = book.execute("SELECT avg(auto_score) FROM grade GROUP BY notebook_id").fetchall()
        return [float(share) for (share,) in rows]

    @staticmethod
    def _cells(code: str) -> list[nbformat.NotebookNode]:
        common, checks = functions()
        cells = [Nbgrader._cell("code", code, solution=True)]
        cells.append(Nbgrader._cell("common", common))
        for name, text in checks.items():
            cells.append(Nbgrader._cell(name, f"{text}\n\n{name}(globals())", points=1))
        return cells

    @staticmethod
    def _cell(
        name: str, text: str, solution: bool = False, points: int = 0
    ) -> nbformat.NotebookNode:
        about = {
            "grade": points > 0, "grade_id": name, "locked": not solution, "schema_version": 3,
            "solution": solution, "task": False,
        }  # fmt: skip
        if points:
            about["points"] = points
        return v4.new_code_cell(text, metadata={"nbgrader": about})


def write_notebook(path: Path, cells: list[nbformat.NotebookNode]) -> None:
    """Write a notebook."""
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(v4.new_notebook(metadata=KERNEL, cells=cells), path)


def chosen(number: int) -> dict[str, str]:
    """Right submissions of one module, by name, that run nothing when they are a notebook."""
    texts = {path: path.read_bytes() for path in sorted(CORPUS.glob("*.py"))}
    fit = [path for path, text in texts.items() if text.isascii() and b"__name__" not in text]
    return {path.stem: texts[path].decode() for path in evenly(fit, number)}


def compare(folder: Path, venvs: Path, number: int, rounds: int) -> None:
    """Grade the class with each in turn, and show submissions a minute."""
    sources = chosen(number)
    ours = folder / "ours"
    for name, text in sources.items():
        write_notebook(ours / f"{name}.ipynb", [v4.new_code_cell(text)])
    peers: list[Peer] = []
    for kind in (Otter, Nbgrader):
        peer = kind(venvs, folder)
        problem = peer.install()
        if problem:
            print(f"{PACKAGES[peer.name][0]} cannot be installed here: {problem}")
            continue
        peer.prepare(sources)
        peers.append(peer)
    rates: dict[str, list[float]] = {}

    def add(name: str, seconds: float) -> None:
        rates.setdefault(name, []).append(60 * len(sources) / seconds)

    for count in range(rounds):
        for jobs in (None, 1):
            lanes = [] if jobs is None else ["--jobs", str(jobs)]
            out = folder / f"out-{count}-{jobs}"
            command = [*GRADER, "grade", str(ours), "--out", str(out), *lanes]
            add("grader grade" if jobs is None else "grader grade --jobs 1", timed(command, ROOT))
        for peer in peers:
            add(peer.name, peer.grade())
    print(f"{len(sources)} right submissions of multi_head_attention, starts included")
    for name in ("grader grade", "grader grade --jobs 1"):
        print(f"    {name:<28}{spread(rates[name], 'a minute')}")
    for peer in peers:
        shares = peer.shares()
        if len(shares) != len(sources):
            sys.exit(f"{peer.name} graded {len(shares)} of {len(sources)}")
        name = f"{PACKAGES[peer.name][0]} {peer.version}"
        print(f"    {name:<28}{spread(rates[peer.name], 'a minute')}")
        print(f"        points on average       {100 * statistics.mean(shares):.0f} %")
        for ours_name in ("grader grade", "grader grade --jobs 1"):
            pairs = zip(rates[ours_name], rates[peer.name], strict=True)
            ratios = [one / other for one, other in pairs]
            aim = f"   {AIM}" if ours_name == "grader grade" else ""
            print(f"        {ours_name:<24}{spread(ratios, '×')}{aim}")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--number", type=int, default=30, help="how many submissions")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--venvs", type=Path, help="keep the environments here, for another run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        folder = Path(made)
        venvs = (options.venvs or folder / "venvs").resolve()
        venvs.mkdir(parents=True, exist_ok=True)
        (folder / "class").mkdir()
        compare(folder / "class", venvs, options.number, options.rounds)


if __name__ == "__main__":
    main()
