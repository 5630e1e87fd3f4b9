"""Looks from inside a worker at what holds, by trying: what `grader doctor` prints."""

import ctypes
import inspect
import os
import re
import secrets
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.errors import StudentError, StudentRaised
from grader.sandbox import Isolation, Limits
from grader.sandbox.system import IS_LINUX
from grader.worker.client import Launcher, Worker

PROBE = Path(__file__).resolve().parents[1] / "sandbox" / "probe.py"
IPC_CREATE, IPC_REMOVE = 0o1000, 0


@dataclass(frozen=True)
class Attempt:
    """Something that a worker tried.

    Attributes:
        name: the probe's function.
        what: what it tried, in words.
        is_possible: whether it could.
        evidence: what came of it, or what stopped it.
    """

    name: str
    what: str
    is_possible: bool
    evidence: str


@dataclass(frozen=True)
class Examination:
    """What holds of a sandbox.

    Attributes:
        isolation: how workers are shut in.
        mechanisms: those that hold, each with what is worth saying of it.
        missing: those that could not be had, each with the reason.
        reasons: why workers are not shut in any better.
        attempts: what a worker tried; empty where the probe does not run (Windows).
        start_seconds: wall-clock time that starting a worker and ending it took.
    """

    isolation: Isolation
    mechanisms: dict[str, str]
    missing: dict[str, str]
    reasons: tuple[str, ...]
    attempts: list[Attempt] = field(default_factory=list)
    start_seconds: float = 0.0


def examine(launcher: Launcher) -> Examination:
    """Start a worker, and have it try what a sandbox must not let it do.

    Args:
        launcher: starts it.
    """
    launcher.start_and_end()  # the first waits for torch to be imported
    begun = time.monotonic()
    worker = launcher.start_and_end()
    seconds = time.monotonic() - begun
    held = worker.held
    found = Examination(
        worker.isolation,
        held.get("mechanisms", {}),
        held.get("missing", {}),
        launcher.reasons,
        start_seconds=seconds,
    )
    if IS_LINUX:
        with bait() as arguments:
            found.attempts.extend(attempt_all(launcher, arguments))
    return found


def attempt_all(launcher: Launcher, arguments: dict[str, Any]) -> Iterator[Attempt]:
    """Try every function of the probe, each in a worker of its own if need be."""
    worker: Worker | None = None
    for name, function in probe_functions().items():
        if worker is None or worker.ended is not None:
            worker = load_probe(launcher)
        yield attempt(worker, name, function, arguments)
    if worker is not None:
        worker.end()


def load_probe(launcher: Launcher) -> Worker:
    """A worker that has the probe loaded, as it would a submission."""
    worker = launcher.start(Limits())
    request = {
        "sources": {"probe.py": [[1, PROBE.read_text(encoding="utf-8")]]},
        "modules": ["probe.py"],
        "tolerant": [],
        "names": list(probe_functions()),
    }
    worker.request("load", request, 20.0)
    return worker


def attempt(worker: Worker, name: str, function: Any, arguments: dict[str, Any]) -> Attempt:
    """Have a worker try one thing."""
    names = list(inspect.signature(function).parameters)
    request = {"target": name, "inputs": [arguments[n] for n in names], "names": names}
    what = (inspect.getdoc(function) or name).split("\n")[0].rstrip(".")
    try:
        answer = worker.request("call", request, 10.0)
    except StudentRaised as error:
        return Attempt(name, what, False, _plain(error.text) or error.kind)
    except StudentError as error:
        return Attempt(name, what, False, str(error))
    return Attempt(name, what, True, str(answer["returned"]))


def _plain(text: str) -> str:
    """An error's text without its number and the file that it names."""
    return re.sub(r"^\[Errno \d+\] ", "", text).split(": '")[0]


def probe_functions() -> dict[str, Any]:
    """What the probe tries, by name; empty on systems that it is not made for."""
    if not IS_LINUX:
        return {}
    from grader.sandbox import probe

    return {
        name: value
        for name, value in vars(probe).items()
        if inspect.isfunction(value) and value.__module__ == probe.__name__
    }


@contextmanager
def bait() -> Iterator[dict[str, Any]]:
    """What the probe's functions are pointed at: things of this process, made for the purpose."""
    with (
        tempfile.TemporaryDirectory(prefix="grader-bait-") as folder,
        _echo(socket.SOCK_STREAM) as stream,
        _echo(socket.SOCK_DGRAM) as datagrams,
        _shared_memory() as key,
    ):
        os.chmod(folder, 0o777)  # whoever comes here may write
        file = Path(folder, "file")
        file.write_text("a secret", encoding="utf-8")
        file.chmod(0o666)
        yield {
            "path": str(file),
            "folder": folder,
            "pid": os.getpid(),
            "port": stream,
            "datagrams": datagrams,
            "key": key,
            "user": os.getuid(),
            "name": os.uname().nodename,
        }


@contextmanager
def _echo(kind: socket.SocketKind) -> Iterator[int]:
    """A loopback port; what is sent to it as a datagram comes back."""
    with socket.socket(socket.AF_INET, kind) as server:
        server.bind(("127.0.0.1", 0))
        if kind == socket.SOCK_STREAM:
            server.listen()
        else:
            threading.Thread(target=_answer, args=(server,), daemon=True).start()
        yield server.getsockname()[1]


def _answer(server: socket.socket) -> None:
    try:
        while True:
            data, sender = server.recvfrom(16)
            server.sendto(data, sender)
    except OSError:
        pass  # closed


@contextmanager
def _shared_memory() -> Iterator[int]:
    """The key of a segment of System V shared memory that everybody may use."""
    libc = ctypes.CDLL(None)
    key = secrets.randbelow(2**30) + 1
    identifier = libc.shmget(key, 4096, IPC_CREATE | 0o666)
    try:
        yield key
    finally:
        if identifier >= 0:
            libc.shmctl(identifier, IPC_REMOVE, None)
