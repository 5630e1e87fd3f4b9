"""Where attacks are tried: a small rubric with short limits, and what they must leave alone.

Run as a script it tries the attacks of a folder under one isolation, and prints what came of each as
a line of JSON: `python tests/hostile/arena.py LEVEL FOLDER [NAME…]`.
"""

import json
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from grader.assignment import Assignment, load_assignment
from grader.grading import Grader
from grader.report import Report
from grader.sandbox import Isolation
from grader.worker.client import ForkLauncher

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RUBRIC = """
schema = "transformer-grader/rubric/1"
id = "hostile"
title = "Attention, under attack"
lesson = "Lesson 115"
module = "attention"
mask_convention = "True = may attend"
disallowed = {disallowed}
[limits]
load_seconds = 3
call_seconds = 1.2
check_seconds = 4
submission_seconds = 20
memory_mb = 1024
[[components]]
name = "scaled_dot_product_attention"
arguments = ["query", "key", "value", "mask"]
[[milestones]]
id = "attention"
title = "Attention"
"""
CHECKS = (
    "attention_values", "scale_is_root_of_d_k", "masks_of_any_dtype",
    "attention_leaves_inputs_unchanged", "attention_gradients", "attention_cost_is_quadratic",
)  # fmt: skip
WRONG = """
import torch
def scaled_dot_product_attention(q, k, v, mask=None):
    hook = globals().get("attack")
    if hook is not None:
        answer = hook(q, k, v, mask)
        if answer is not None:
            return answer
    scores = q @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ v, weights
"""
HONEST = WRONG.replace("q @ k.transpose(-2, -1)", "q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5")
TOO_LONG = 60.0  # seconds for an attack and its sibling, on a busy machine
PORTS = (48999, 8888, 8080)  # loopback ports that attacks try
CANARY = "grader-canary-"
SECRET = "GRADER_CANARY_VALUE_7f3a"


@contextmanager
def small_assignment() -> Iterator[Assignment]:
    """Six checks of the attention function, with limits of seconds."""
    source = ROOT / "assignments" / "multi_head_attention"
    with tempfile.TemporaryDirectory(prefix="grader-arena-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("__pycache__"))
        disallowed = list(load_assignment("multi_head_attention").disallowed)
        rows = [
            f'[[milestones.checks]]\nid = "{c}"\npoints = 1\nfrom = "{source.name}"\n'
            for c in CHECKS
        ]
        (folder / "hostile").mkdir()
        text = RUBRIC.format(disallowed=json.dumps(disallowed)) + "".join(rows)
        (folder / "hostile" / "rubric.toml").write_text(text)
        yield load_assignment(folder / "hostile")


def without_times(report: Report) -> str:
    """The report's JSON, but for how long it took."""
    return report.model_copy(update={"seconds": 0.0}).to_json()


def canaries() -> set[str]:
    """Files that attacks leave where they must not come."""
    folders = {
        "/tmp", "/var/tmp", "/dev/shm", "/", os.path.expanduser("~"), os.path.dirname(sys.executable),
        *(folder for folder in sys.path if folder), os.getcwd(),
    }  # fmt: skip
    return {
        f"{folder}/{name}"
        for folder in folders if os.path.isdir(folder) and os.access(folder, os.R_OK)
        for name in os.listdir(folder) if CANARY in name or name.startswith("sem.grader")
    }  # fmt: skip


def left_behind() -> set[str]:
    """System V objects of this machine that an attack can have made, by kind and key."""
    found = set()
    for kind in ("shm", "sem", "msg"):
        try:
            lines = Path("/proc/sysvipc", kind).read_text().splitlines()[1:]
        except OSError:
            continue
        keys = {line.split()[0] for line in lines}
        found |= {f"{kind} {key}" for key in keys if key in ("0", str(0x47524431))}
    return found


def descendants(pid: int) -> set[int]:
    """The processes that a process started, directly or not."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        process = waiting.pop()
        try:
            text = Path(f"/proc/{process}/task/{process}/children").read_text()
        except OSError:
            continue
        children = {int(child) for child in text.split()} - found
        found |= children
        waiting += children
    return found


def open_doors(port: int) -> Iterator[socket.socket]:
    """Sockets that wait at a loopback port, where another test does not have it."""
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        door = socket.socket(socket.AF_INET, kind)
        door.setblocking(False)
        try:
            door.bind(("127.0.0.1", port))
            if kind == socket.SOCK_STREAM:
                door.listen()
        except OSError:
            door.close()
        else:
            yield door


class Arena:
    """One batch: attacker after attacker, each followed by the same honest submission."""

    def __init__(self, launcher: ForkLauncher, assignment: Assignment) -> None:
        self._launcher = launcher
        self._known = 0
        self._doors = [door for port in PORTS for door in open_doors(port)]
        self._grader = Grader(assignment, launcher)
        self.honest = without_times(self._grader.grade({"attention.py": HONEST.encode()}, "honest"))
        self.wrong = self._grader.grade({"attention.py": WRONG.encode()}, "wrong")
        assert '"score": 6' in self.honest or '"score":6' in self.honest, self.honest

    def _knocks(self) -> int:
        """How many connections and datagrams have come to the ports that attacks know."""
        for sock in self._doors:
            try:
                while True:
                    if sock.type == socket.SOCK_STREAM:
                        sock.accept()[0].close()
                    else:
                        sock.recv(64)
                    self._known += 1
            except OSError:
                continue  # nobody is there
        return self._known

    def attack(self, name: str, text: str) -> dict[str, Any]:
        """Grade an attack and its honest sibling; returns what came of it, and what it broke."""
        zygote = self._launcher._process
        assert zygote is not None
        before = (canaries(), left_behind())
        knocked = self._knocks()
        begun = time.monotonic()
        reports = self._grader.grade_all(
            [
                (name, {"attention.py": (text + WRONG).encode()}),
                ("honest", {"attention.py": HONEST.encode()}),
            ]
        )
        seconds = time.monotonic() - begun
        breaches = [f"it took {seconds:.0f} s"] if seconds > TOO_LONG else []
        if self._launcher._process is not zygote or zygote.poll() is not None:
            breaches.append("the zygote was lost")
        if without_times(reports[1]) != self.honest:
            breaches.append("the sibling's report changed")
        if descendants(zygote.pid):
            breaches.append("processes are left running")
        if os.listdir(self._launcher._folder):
            breaches.append(f"files are left: {os.listdir(self._launcher._folder)}")
        if self._knocks() != knocked:
            breaches.append("a connection was made")
        breaches += [f"left outside: {what}" for what in canaries() - before[0]]
        breaches += [f"left behind: {what}" for what in left_behind() - before[1]]
        attacked = reports[0]
        if attacked.status != "graded":
            breaches.append(f"it is not graded: {attacked.status}")
        won = [
            mine.id
            for mine, plain in zip(attacked.code(), self.wrong.code(), strict=True)
            if mine.score > plain.score
        ]
        if won:
            breaches.append(f"points were won: {', '.join(won)}")
        if SECRET in attacked.to_json():
            breaches.append("it saw the environment")
        rows = {c.id: c.status for c in attacked.code()}
        return {
            "name": name, "breaches": breaches, "rows": rows, "seconds": round(seconds, 2),
            "score": str(attacked.score), "isolation": attacked.environment.isolation,
        }  # fmt: skip


def attacks(folder: Path) -> dict[str, str]:
    """The attacks in a folder, by name.

    Those in a folder inside it have its name before theirs, and its `_prelude.py` before their text.
    """
    found = {p.stem: p.read_text(encoding="utf-8") for p in sorted(folder.glob("*.py"))}
    for prelude in sorted(folder.glob("*/_prelude.py")):
        begin = prelude.read_text(encoding="utf-8")
        for name, text in attacks(prelude.parent).items():
            if name != prelude.stem:
                found[f"{prelude.parent.name}_{name}"] = begin + text
    return found


def try_all(
    isolation: Isolation, folder: Path, names: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """Try the attacks of a folder in one batch: those named, or all."""
    os.environ["GRADER_CANARY_SECRET"] = SECRET
    with small_assignment() as assignment, ForkLauncher(isolation) as launcher:
        arena = Arena(launcher, assignment)
        for name, text in attacks(folder).items():
            if not names or name in names:
                yield arena.attack(name, text)


def main(isolation: Isolation, folder: Path, names: Sequence[str]) -> int:
    """Try attacks, print what came of each, and say how many broke anything."""
    tried = broke = 0
    for result in try_all(isolation, folder, names):
        print(json.dumps(result), flush=True)
        tried += 1
        broke += bool(result["breaches"])
    print(f"{isolation}: {tried} attacks, {broke} breaches", file=sys.stderr)
    return 1 if broke else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]))  # type: ignore[arg-type]
