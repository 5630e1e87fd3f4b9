"""Imports torch once, then forks a worker for each submission; run as a script, never imported.

    python -s -P -S zygote.py '{"serve": "fork", …}'      commands over a socket that it inherits
    python -s -P -S zygote.py '{"serve": "connect", …}'   one worker, where there is no fork

The interpreter starts without `site`, so no `.pth` file and no editable install adds anything. Of
the project only the modules in `NEEDED` are loaded, by path; the rest is not importable.
"""

import gc
import importlib.util
import json
import os
import shutil
import signal
import socket
import sys
import types
from pathlib import Path
from typing import Any

NEEDED = [
    "sandbox.limits",
    "sandbox",
    "worker.protocol",
    "worker.counting",
    "worker.tracing",
    "worker.standins",
    "worker.devices",
    "worker.modules",
    "worker.binding",
    "worker.runtime",
]
HERE = Path(__file__).resolve().parent.parent


def load_needed() -> None:
    """Load the project's modules that a worker needs, under their usual names."""
    for name in ("grader", "grader.worker"):
        package = types.ModuleType(name)
        package.__path__ = []
        sys.modules[name] = package
    for name in NEEDED:
        file = HERE.joinpath(*name.split("."))
        file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
        locations: list[str] | None = [] if file.name == "__init__.py" else None
        spec = importlib.util.spec_from_file_location(
            f"grader.{name}", file, submodule_search_locations=locations
        )
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)


def warm_up() -> None:
    """Run each kind of thing once, on one thread, so that a forked worker need not start it."""
    import torch

    from grader.worker.counting import OperationCounter

    torch.set_num_threads(1)
    layer = torch.nn.Linear(4, 4)
    x = torch.randn(2, 3, 4)
    with OperationCounter():
        torch.softmax(layer(x) @ layer(x).transpose(-2, -1), dim=-1)
    torch.softmax(layer(x) @ layer(x).transpose(-2, -1), dim=-1).sum().backward()  # type: ignore[no-untyped-call]
    freeze()


def warm_up_training() -> None:
    """Take the first optimizer step, which imports `torch._dynamo`: 2 s a worker otherwise."""
    import torch

    torch.optim.AdamW([torch.zeros(1, requires_grad=True)]).step()
    freeze()


def freeze() -> None:
    """Keep the garbage collector off what is shared with the workers, so that it stays shared."""
    gc.collect()
    gc.freeze()


def run_eagerly() -> None:
    """Have `torch.compile` give back what it was given: the values are the same, at once."""
    import torch

    def compile_nothing(model: Any = None, **options: Any) -> Any:
        if model is None:
            return lambda given: compile_nothing(given, **options)
        return model

    torch.compile = compile_nothing
    torch.nn.Module.compile = lambda self, *_, **__: None  # type: ignore[method-assign]


def become_worker(sock: socket.socket, limits: dict[str, int]) -> None:
    """Shut this process in and answer requests on `sock` until the other end closes it."""
    from grader import sandbox
    from grader.worker import protocol, runtime

    run_eagerly()
    sandbox.enter(sandbox.Limits(**limits))
    worker = runtime.Runtime(protocol.Channel(sock))
    for name in [name for name in sys.modules if name.split(".")[0] == "grader"]:
        del sys.modules[name]
    sys.modules.pop("__main__", None)
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.argv = [""]
    worker.serve()


class Zygote:
    """Forks workers, ends them, and takes with them whatever they started.

    Commands are JSON, one at a time. `{"fork": {limits}, "trains": bool, "folder": path}`, with two
    descriptors (the worker's socket and the pipe for its output), answers `{"pid": n}`;
    `{"end": pid}` answers `{"status": wait status, "cpu_seconds": s, "peak_bytes": n}`.
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._workers: set[int] = set()
        self._trains = False

    def serve(self) -> None:
        """Obey until the trusted side goes away, then end every worker."""
        try:
            self._control.sendall(b'{"ready":true}')
            while self._obey():
                pass
        except OSError:
            pass  # the trusted side is gone
        for pid in list(self._workers):
            self._end(pid)
        shutil.rmtree(os.getcwd(), ignore_errors=True)  # the trusted side may have been killed
        os._exit(0)  # tearing torch down takes 0.1 s, and there is nothing to save

    def _obey(self) -> bool:
        """Carry out one command; False when the trusted side has gone."""
        data, descriptors, _, _ = socket.recv_fds(self._control, 65536, 2)
        if data:
            command = json.loads(data)
            answer = (
                self._end(command["end"]) if "end" in command else self._fork(command, descriptors)
            )
            self._control.sendall(json.dumps(answer).encode())
        return bool(data)

    def _fork(self, command: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        if command["trains"] and not self._trains:
            warm_up_training()
            self._trains = True
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                self._child(command["fork"], command["folder"], *descriptors)
                code = 0
            finally:
                os._exit(code)
        for descriptor in descriptors:
            os.close(descriptor)
        self._workers.add(pid)
        return {"pid": pid}

    def _child(self, limits: dict[str, int], folder: str, sock: int, output: int) -> None:
        os.setsid()
        die_with_parent()
        os.chdir(folder)
        sock, output = _away_from_standard(sock), _away_from_standard(output)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.dup2(sock, 3)
        os.closerange(4, 65536)
        gc.enable()
        become_worker(socket.socket(fileno=3), limits)

    def _end(self, pid: int) -> dict[str, Any]:
        if pid not in self._workers:
            return {"status": None}
        try:
            os.killpg(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass  # it has ended by itself, or has not come to setsid yet
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        _, status, usage = os.wait4(pid, 0)
        self._workers.discard(pid)
        self._end_orphans()
        unit = 1 if sys.platform == "darwin" else 1024
        return {
            "status": status,
            "cpu_seconds": usage.ru_utime + usage.ru_stime,
            "peak_bytes": usage.ru_maxrss * unit,
        }

    def _end_orphans(self) -> None:
        """Kill what ended workers left running: as subreaper, this process is its parent now."""
        for _ in range(1000):
            orphans = _children() - self._workers
            if not orphans:
                return
            for pid in orphans:
                os.kill(pid, signal.SIGKILL)
            for pid in orphans:
                os.waitpid(pid, 0)


def _away_from_standard(descriptor: int) -> int:
    """A copy of the descriptor above the numbers that the worker's own get."""
    import fcntl

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10)


def _children() -> set[int]:
    """The children of this process; empty where the system does not tell."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return {int(pid) for pid in file.read().split()}
    except OSError:
        return set()


def _prctl(option: int, value: int) -> None:
    """Call Linux's prctl; does nothing elsewhere."""
    import ctypes

    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def die_with_parent() -> None:
    """Have this process killed when its parent ends (PR_SET_PDEATHSIG)."""
    _prctl(1, signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of grandchildren whose parent ends (PR_SET_CHILD_SUBREAPER)."""
    _prctl(36, 1)


def main(options: dict[str, Any]) -> None:
    """Start as the options say: `serve`, `paths`, and what the way of serving needs."""
    sys.path.extend(path for path in options["paths"] if path not in sys.path)
    load_needed()
    if options["serve"] == "fork":
        control = socket.socket(fileno=options["control"])
        warm_up()
        adopt_orphans()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the trusted side to handle
        Zygote(control).serve()
    else:
        warm_up()
        if options["trains"]:
            warm_up_training()
        os.chdir(options["folder"])
        sock = socket.create_connection(("127.0.0.1", options["port"]))
        sock.sendall(sys.stdin.readline().strip().encode())
        become_worker(sock, options["limits"])


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
