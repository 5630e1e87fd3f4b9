"""The trusted end: starts workers, asks them under a deadline, and ends them.

`Launcher` is the one way to a worker. `ForkLauncher` has a zygote fork it, `SpawnLauncher` starts a
fresh interpreter where there is no fork; everything above does not know which.
"""

import abc
import dataclasses
import importlib.util
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from grader.errors import (
    Frame,
    IsolationUnavailable,
    StudentCrashed,
    StudentTimedOut,
    WorkerUnavailable,
)
from grader.sandbox import Isolation, Limits
from grader.worker.folders import MAX_BYTES, MAX_FILES, remove

ZYGOTE = Path(__file__).with_name("zygote.py")
START_SECONDS = 120.0  # importing torch on a cold disk
PATIENCE = 0.25  # seconds for a process whose socket is closed to be gone
KEPT_OUTPUT = 20_000  # bytes of what student code prints
MAX_OUTPUT = 256 * 2**20  # bytes after which a worker counts as flooding


@dataclasses.dataclass(frozen=True)
class End:
    """How a worker ended.

    Attributes:
        status: the wait status, or None where the system does not tell.
        cpu_seconds: processor time that it took.
        peak_bytes: its largest resident size.
        overflowed: whether it was ended because it filled the disk.
    """

    status: int | None = None
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    overflowed: bool = False

    def __str__(self) -> str:
        if self.overflowed:
            return f"it wrote more than {MAX_BYTES // 2**20} MB or {MAX_FILES:,} files"
        if self.status is None:
            return "its process ended"
        if os.WIFSIGNALED(self.status):
            number = os.WTERMSIG(self.status)
            if number == signal.SIGKILL:
                return "its process was killed (out of memory, perhaps)"
            if number == signal.SIGXCPU:
                return "its process used up its processor time"
            return f"its process was ended by {signal.Signals(number).name}"
        return f"its process ended with exit code {os.WEXITSTATUS(self.status)}"


@dataclasses.dataclass(frozen=True)
class SeenUse:
    """Something that the assignment does not allow, and that a call was seen to use.

    Attributes:
        name: of the function or class of torch.
        owner: the graded definition that was running, or "".
        frames: the student's line, where one was running.
    """

    name: str
    owner: str
    frames: tuple[Frame, ...] = ()


class Output:
    """Keeps the first part of what a worker prints, and counts the rest."""

    def __init__(self, descriptor: int) -> None:
        self.kept = bytearray()
        self.length = 0
        self.flooded = threading.Event()
        self._descriptor = descriptor
        self._thread = threading.Thread(target=self._drain, daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        while part := os.read(self._descriptor, 65536):
            self.length += len(part)
            self.kept += part[: KEPT_OUTPUT - len(self.kept)]
            if self.length > MAX_OUTPUT:
                self.flooded.set()
                break  # the writer meets a full pipe, or a closed one
        os.close(self._descriptor)

    def text(self) -> str:
        """What was printed, as far as it was kept."""
        return self.kept.decode("utf-8", "replace")

    def join(self) -> None:
        """Wait for the end of the output; call it when the worker has ended."""
        self._thread.join(timeout=2.0)


class Worker:
    """A worker that is running: ask it with `request`, and `end` it.

    Args:
        sock: the trusted end of its socket.
        output: what it prints.
        end: ends the process and tells how it ended.
        isolation: how it is shut in.
        held: which mechanisms hold, and which are missing, as the zygote tells.
    """

    def __init__(
        self,
        sock: socket.socket,
        output: Output,
        end: Any,
        isolation: Isolation = "none",
        held: dict[str, dict[str, str]] | None = None,
    ) -> None:
        from grader.worker.protocol import Channel

        self._channel = Channel(sock)
        self._end = end
        self._number = 0
        self.output = output
        self.isolation: Isolation = isolation
        self.held = held or {}
        self.devices: list[Frame] = []  # lines that asked for a device that is not there
        self.uses: list[SeenUse] = []  # what calls were seen to use though it is not allowed
        self.ended: End | None = None

    def request(
        self, operation: str, arguments: dict[str, Any], seconds: float, seed: int = 0
    ) -> Any:
        """Have the worker carry out one operation, and return the value that it answers.

        Args:
            operation: one of the runtime's.
            arguments: a tree of values and tensors.
            seconds: wall-clock time that it may take.
            seed: what its random generators are put to before.

        Raises:
            StudentRaised: the student's code raised.
            StudentTimedOut: no answer in time; the worker is ended.
            StudentCrashed: the worker ended, or answered nonsense; it is ended.
        """
        from grader.worker import protocol
        from grader.worker.answers import frames_of, raised_by, read_answer

        if self.ended is not None:
            raise StudentCrashed(f"The student's code cannot be asked any more: {self.ended}.")
        self._number += 1
        encoder = protocol.Encoder(_reference, protocol.MAX_HEADER, keep_layout=True)
        header = {
            "id": self._number,
            "operation": operation,
            "seed": seed,
            "arguments": {name: encoder.encode(value) for name, value in arguments.items()},
        }
        deadline = time.monotonic() + seconds
        try:
            self._channel.send(protocol.pack(header, encoder.tensors), deadline)
            answer, value = read_answer(*self._channel.receive(deadline))
            if answer.id != self._number:
                raise protocol.ProtocolError("an answer to another request")
        except protocol.ProtocolError as error:
            end = self.end(PATIENCE if isinstance(error, protocol.ConnectionEnded) else 0.0)
            raise self._downfall(error, end, seconds) from None
        if self.output.flooded.is_set():
            self.end()
            raise self._flooded()
        self.devices += frames_of(answer.devices)
        self.uses += [
            SeenUse(use.name, use.owner, frames_of([use.frame] if use.frame else []))
            for use in answer.uses
        ]
        if answer.fault is not None:
            raise raised_by(answer.fault)
        return value

    def _downfall(
        self, error: Exception, end: End, seconds: float
    ) -> StudentTimedOut | StudentCrashed:
        """What it means for the student that no answer came."""
        from grader.worker.protocol import ConnectionEnded, DeadlinePassed

        if not isinstance(error, (DeadlinePassed, ConnectionEnded)):
            return StudentCrashed(f"What came back is not an answer: {error}.")
        if self.output.flooded.is_set():
            return self._flooded()
        if isinstance(error, DeadlinePassed):
            shown = f"{round(seconds, 1):g}"
            return StudentTimedOut(f"It was still running after {shown} s and was stopped.")
        return StudentCrashed(f"No answer came: {end}.")

    @staticmethod
    def _flooded() -> StudentCrashed:
        return StudentCrashed(f"It printed more than {MAX_OUTPUT // 2**20} MB and was stopped.")

    def end(self, patience: float = 0.0) -> End:
        """End the worker and all that it started; returns how it ended. May be called again.

        Args:
            patience: seconds for a worker that is ending by itself to do so.
        """
        if self.ended is None:
            self._channel.close()
            self.ended = self._end(patience)
            self.output.join()
        return self.ended


def _reference(value: Any) -> int | None:
    """The number of an object that the worker keeps."""
    from grader.worker.answers import Kept

    return value.number if isinstance(value, Kept) else None


class Launcher(abc.ABC):
    """Starts workers. Use it in a `with` statement, or `close` it."""

    reasons: tuple[str, ...] = ()  # why workers are not shut in any better, once one was started

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="grader-")

    @abc.abstractmethod
    def start(self, limits: Limits, trains: bool = False) -> Worker:
        """A fresh worker.

        Args:
            limits: what it may take.
            trains: whether it will train, so that optimizers are made ready.

        Raises:
            WorkerUnavailable: none could be started.
        """

    def start_and_end(self) -> Worker:
        """Start a worker and end it, to see how it is shut in."""
        worker = self.start(Limits())
        worker.end()
        return worker

    def require_sandbox(self) -> None:
        """See that workers are shut in, by starting one.

        Raises:
            IsolationUnavailable: they would be no more than processes with limits.
        """
        self.require_isolation("limits")

    def require_isolation(self, least: str) -> None:
        """See that workers are shut in at least so well, by starting one.

        Args:
            least: a level; or "user" where a user of its own will do, as in a container that holds
                nothing but the one submission.

        Raises:
            IsolationUnavailable: they are not.
        """
        if least == "none":
            return
        worker = self.start_and_end()
        why = "; ".join(self.reasons) or "this system has none"
        if least == "user" and "identity" in worker.held.get("mechanisms", {}):
            return
        if worker.isolation == "none":
            raise IsolationUnavailable(
                f"There is no sandbox here ({why}), and others' code is not run without one. "
                "`grader doctor` says more; `--isolation none` grades all the same."
            )
        if least == "namespaces" and worker.isolation != least:
            raise IsolationUnavailable(f"There are no namespaces here ({why}).")

    def close(self) -> None:
        """End every worker and remove the temporary folder."""
        remove(self._folder)

    def __enter__(self) -> "Launcher":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _command(self, options: dict[str, Any]) -> list[str]:
        options = {"paths": _package_folders(), **options}
        return [sys.executable, "-s", "-P", "-S", str(ZYGOTE), json.dumps(options)]

    def _environment(self) -> dict[str, str]:
        """The worker's whole environment: nothing of the caller's but what the system needs."""
        needed = {"SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TZ"}
        return {
            **{name: value for name, value in os.environ.items() if name.upper() in needed},
            "PATH": os.defpath,
            "HOME": self._folder,
            "TMPDIR": self._folder,
            "TEMP": self._folder,
            "LANG": "C.UTF-8",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUTF8": "1",
            "PYTHONWARNINGS": "ignore",
            "OMP_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
            "MPLBACKEND": "Agg",
            "PIP_NO_INDEX": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }

    def _work_folder(self) -> str:
        return tempfile.mkdtemp(dir=self._folder)


class ForkLauncher(Launcher):
    """Has a zygote, which imports torch once, fork each worker: milliseconds instead of seconds.

    The zygote starts at once, and a new one takes over when it breaks.

    Args:
        isolation: how workers are shut in; None for the best that is to be had.
        without: mechanisms that are left out, which a test does to show what each is for.
    """

    def __init__(self, isolation: Isolation | None = None, without: Iterable[str] = ()) -> None:
        super().__init__()
        self.isolation = isolation
        self.without = sorted(without)
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._ready = False
        self._warm()

    def _warm(self) -> None:
        """Start the zygote; it imports torch while the caller does other things."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            keep = os.dup(theirs.fileno())
        try:
            self._process = subprocess.Popen(
                self._command({"serve": "fork", "control": keep, "hidden": _project_folders()}),
                env=self._environment(),
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                pass_fds=[keep],
                start_new_session=True,
            )
        finally:
            os.close(keep)
        self._control = ours
        self._ready = False

    def start(self, limits: Limits, trains: bool = False) -> Worker:
        """A worker that was forked just now."""
        try:
            return self._start(limits, trains)
        except WorkerUnavailable:
            self._stop()  # the zygote may have been a victim of the last worker: take a new one
            self._warm()
            return self._start(limits, trains)

    def _start(self, limits: Limits, trains: bool) -> Worker:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        read, write = os.pipe()
        folder = self._work_folder()
        try:
            command = {
                "fork": dataclasses.asdict(limits), "trains": trains, "folder": folder,
                "isolation": self.isolation, "without": self.without,
            }  # fmt: skip
            answer = self._order(command, [theirs.fileno(), write])
            if "pid" not in answer:
                raise IsolationUnavailable(
                    f"Workers cannot be shut in with {self.isolation!r}: {answer['refused']}."
                )
            pid, isolation, held = answer["pid"], answer["isolation"], answer["held"]
            self.reasons = tuple(answer["reasons"])
        except BaseException:
            ours.close()
            os.close(read)
            raise
        finally:
            theirs.close()
            os.close(write)

        def end(patience: float) -> End:
            try:
                answer = self._order({"end": pid, "patience": patience})
            except WorkerUnavailable:
                answer = {"status": None}
            remove(folder)
            return End(**answer)

        return Worker(ours, Output(read), end, isolation, held)

    def _order(
        self, command: dict[str, Any], descriptors: list[int] | None = None
    ) -> dict[str, Any]:
        """Send the zygote a command and return its answer."""
        control = self._control
        if control is None:
            raise WorkerUnavailable("The zygote is closed.")
        try:
            if not self._ready:
                control.settimeout(START_SECONDS)
                if not control.recv(100):
                    raise WorkerUnavailable("The process that runs student code did not start.")
                self._ready = True
            control.settimeout(30.0)
            socket.send_fds(control, [json.dumps(command).encode()], descriptors or [])
            data = control.recv(65536)
        except OSError as error:
            raise WorkerUnavailable(f"The zygote does not answer: {error}.") from None
        if not data:
            raise WorkerUnavailable("The zygote is gone.")
        answer: dict[str, Any] = json.loads(data)
        return answer

    def _stop(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            if not self._ready:
                self._process.kill()  # it is still importing, and has no workers
            try:
                self._process.wait(timeout=5.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def close(self) -> None:
        """End the zygote and every worker with it."""
        self._stop()
        super().close()


class SpawnLauncher(Launcher):
    """Starts a fresh interpreter for each worker: for systems without fork, and slower by torch.

    The worker connects to a loopback port, and shows a token that it read from its standard input.
    """

    def start(self, limits: Limits, trains: bool = False) -> Worker:
        """A worker in an interpreter of its own."""
        folder = self._work_folder()
        token = secrets.token_hex(16)
        with socket.create_server(("127.0.0.1", 0)) as server:
            options = {
                "serve": "connect",
                "port": server.getsockname()[1],
                "folder": folder,
                "limits": dataclasses.asdict(limits),
                "trains": trains,
            }
            process = subprocess.Popen(
                self._command(options),
                env=self._environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(token.encode() + b"\n")
            process.stdin.close()
            try:
                ours = self._accept(server, token, process)
            except BaseException:
                process.kill()
                process.wait()
                raise
        output = Output(os.dup(process.stdout.fileno()))
        process.stdout.close()

        def end(_: float) -> End:
            process.kill()
            code = process.wait()
            remove(folder)
            # A wait status is the signal, or the exit code shifted by eight bits.
            return End(status=-code if code < 0 else code << 8)

        return Worker(ours, output, end)

    @staticmethod
    def _accept(
        server: socket.socket, token: str, process: subprocess.Popen[bytes]
    ) -> socket.socket:
        """The connection that shows the token; others are turned away."""
        deadline = time.monotonic() + START_SECONDS
        server.settimeout(0.2)
        while time.monotonic() < deadline and process.poll() is None:
            try:
                connection, _ = server.accept()
            except TimeoutError:
                continue
            connection.settimeout(5.0)
            shown = connection.recv(len(token), socket.MSG_WAITALL)
            if secrets.compare_digest(shown, token.encode()):
                return connection
            connection.close()
        raise WorkerUnavailable("The process that runs student code did not start.")


def make_launcher(isolation: Isolation | None = None) -> Launcher:
    """The launcher that fits this system.

    Args:
        isolation: how workers are shut in; None for the best that is to be had.

    Raises:
        IsolationUnavailable: there is no such isolation on this system.
    """
    if hasattr(os, "fork") and hasattr(socket, "send_fds"):
        return ForkLauncher(isolation)
    if isolation not in (None, "none"):
        raise IsolationUnavailable(f"There is no isolation {isolation!r} on this system.")
    return SpawnLauncher()


def _project_folders() -> list[str]:
    """The project's own folders, wherever it is installed: what no student code may read."""
    package = Path(__file__).resolve().parents[1]
    names = ("grader", "reference", "assignments", "student_template", "examples", "tests")
    found = {package, *(package.parent / name for name in names)}
    spec = importlib.util.find_spec("reference")
    if spec is not None and spec.origin is not None:
        found.add(Path(spec.origin).resolve().parent)
    return sorted(str(folder) for folder in found if folder.is_dir())


def _package_folders() -> list[str]:
    """The folders that hold what a worker imports; found without importing any of it."""
    folders = []
    for name in ("torch", "numpy", "safetensors", "typing_extensions"):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise WorkerUnavailable(f"The package {name} is not installed.")
        path = Path(spec.origin).parent
        folders.append(str(path if spec.submodule_search_locations is None else path.parent))
    return list(dict.fromkeys(folders))
