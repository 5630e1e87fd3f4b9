"""Imports torch once, then forks a worker for each submission; run as a script, never imported.

    python -s -P -S zygote.py '{"serve": "fork", …}'      commands over a socket that it inherits
    python -s -P -S zygote.py '{"serve": "connect", …}'   one worker, where there is no fork

The interpreter starts without `site`, so no `.pth` file and no editable install adds anything. Of
the project only the modules in `NEEDED` are loaded, by path; the rest is not importable.
"""

import dataclasses
import gc
import importlib.util
import inspect
import json
import os
import select
import signal
import socket
import sys
import time
import types
from pathlib import Path
from typing import Any

NEEDED = [
    "sandbox.system",
    "sandbox.limits",
    "sandbox.descriptors",
    "sandbox.namespaces",
    "sandbox.filesystem",
    "sandbox.groups",
    "sandbox.identity",
    "sandbox.capabilities",
    "sandbox.landlock",
    "sandbox.seccomp",
    "sandbox.confine",
    "sandbox",
    "worker.folders",
    "worker.protocol",
    "worker.modes",
    "worker.counting",
    "worker.tracing",
    "worker.standins",
    "worker.devices",
    "worker.watch",
    "worker.state",
    "worker.modules",
    "worker.binding",
    "worker.runtime",
]
# arguments of a DataLoader that are about its processes
OF_PROCESSES = (
    "num_workers", "prefetch_factor", "persistent_workers", "worker_init_fn",
    "multiprocessing_context", "timeout",
)  # fmt: skip
# what multiprocessing.dummy has of multiprocessing
AS_THREADS = (
    "Process", "Pool", "Manager", "Pipe", "Lock", "RLock", "Semaphore", "BoundedSemaphore",
    "Condition", "Event", "Barrier", "Queue", "JoinableQueue", "Value", "Array",
)  # fmt: skip
HERE = Path(__file__).resolve().parent.parent
ENTER_SECONDS = 20.0
WATCH_SECONDS = 0.25
OWN_BYTES = 2 * 2**30  # of memory for this process and for what workers write to files
OWN_TASKS = 4


def load_needed() -> None:
    """Load the project's modules that a worker needs, under their usual names."""
    for name in ("grader", "grader.sandbox", "grader.worker"):
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
    import concurrent.futures  # noqa: F401
    import multiprocessing.dummy  # noqa: F401

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


def without_processes() -> None:
    """Have what would start processes do with threads: a worker can start no process.

    A `DataLoader` loads in its own thread, whatever its `num_workers`.
    """
    import concurrent.futures
    import multiprocessing.context
    import multiprocessing.dummy

    import torch

    begin = torch.utils.data.DataLoader.__init__
    signature = inspect.signature(begin)

    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
        for name in OF_PROCESSES:
            bound.arguments.pop(name, None)
        begin(**bound.arguments)

    torch.utils.data.DataLoader.__init__ = initialise  # type: ignore[method-assign]
    for name in AS_THREADS:
        replaced = getattr(multiprocessing.dummy, name)
        setattr(multiprocessing, name, replaced)
        setattr(torch.multiprocessing, name, replaced)
        setattr(multiprocessing.context.BaseContext, name, staticmethod(replaced))
    executor: Any = concurrent.futures.ThreadPoolExecutor
    concurrent.futures.ProcessPoolExecutor = executor  # type: ignore[misc]


def become_worker(sock: socket.socket) -> None:
    """Answer requests on `sock` until the other end closes it."""
    from grader.worker import protocol, runtime

    run_eagerly()
    without_processes()
    worker = runtime.Runtime(protocol.Channel(sock))
    for name in [name for name in sys.modules if name.split(".")[0] == "grader"]:
        del sys.modules[name]
    sys.modules.pop("__main__", None)
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.argv = [""]
    worker.serve()


class Zygote:
    """Forks workers, ends them, and takes with them whatever they started.

    Commands are JSON, one at a time:
    `{"fork": {limits}, "trains": bool, "folder": path, "isolation": level or null,
    "without": [mechanism, …]}`, with two descriptors (the worker's socket and the pipe for its
    output), answers `{"pid": n, "isolation": level, "held": {…}}`, or `{"refused": reason}`;
    `{"end": pid, "patience": seconds}` answers `{"status": wait status, "cpu_seconds": s,
    "peak_bytes": n, "overflowed": bool}`.
    """

    def __init__(self, control: socket.socket, hidden: list[str], group: Any) -> None:
        from grader import sandbox

        self._control = control
        self._group = group
        self._hidden = tuple(hidden)
        self._readable = tuple(readable_folders())
        self._workers: dict[int, Any] = {}  # each with its limits
        self._own_id: dict[Any, bool] = {
            level: sandbox.readable_by_others(list(self._readable), level != "namespaces")
            for level in sandbox.LEVELS
        }
        self._watched: dict[int, str] = {}  # folders of those that have no file system of their own
        self._overflowed: set[int] = set()
        self._trains = False
        self._level: str | None = None  # the best isolation that could be had
        self._reasons: list[str] = []  # why a better one could not

    def serve(self) -> None:
        """Obey until the trusted side goes away, then end every worker."""
        from grader.worker.folders import remove

        try:
            self._control.sendall(b'{"ready":true}')
            while self._obey():
                pass
        except OSError:
            pass  # the trusted side is gone
        for pid in list(self._workers):
            self._end(pid)
        self._group.leave()
        remove(os.getcwd())  # the trusted side may have been killed
        os._exit(0)  # tearing torch down takes 0.1 s, and there is nothing to save

    def _obey(self) -> bool:
        """Carry out one command; False when the trusted side has gone."""
        while self._watched and not select.select([self._control], [], [], WATCH_SECONDS)[0]:
            self._watch()
        data, descriptors, _, _ = socket.recv_fds(self._control, 65536, 2)
        if data:
            command = json.loads(data)
            answer = (
                self._end(command["end"], command["patience"])
                if "end" in command
                else self._fork(command, descriptors)
            )
            self._control.sendall(json.dumps(answer).encode())
        return bool(data)

    def _watch(self) -> None:
        """End workers that fill the disk, where a file system of their own does not bound them."""
        from grader.worker.folders import holds_unlinked, overflows

        for pid, folder in self._watched.items():
            if pid not in self._overflowed and (overflows(folder) or holds_unlinked(pid)):
                self._overflowed.add(pid)
                _kill(pid)

    def _fork(self, command: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        from grader import sandbox

        if command["trains"] and not self._trains:
            warm_up_training()
            self._trains = True
        try:
            given = command["isolation"] or self._level
            if given is not None:
                return {**self._try(given, command, descriptors), "reasons": self._reasons}
            levels = sandbox.LEVELS
            for level in levels[levels.index(sandbox.best_level()) :]:
                answer = self._try(level, command, descriptors)
                if "pid" in answer:
                    self._level = level
                    break
                self._reasons.append(f"no {level}: {answer['refused']}")
            return {**answer, "reasons": self._reasons}
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _try(self, level: Any, command: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        """Fork a worker with that isolation; answers its id, or why it could not be shut in."""
        from grader import sandbox

        limits = sandbox.Limits(**command["fork"])
        wanted = sandbox.Confinement(
            level, command["folder"], self._readable, self._hidden, self._own_id[level],
            frozenset(command["without"]),
        )  # fmt: skip
        grouped = self._group and "cgroup" not in command["without"]
        self._bound(limits, grouped)
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                self._child(limits, wanted, [*descriptors, write])
                code = 0
            finally:
                os._exit(code)
        os.close(write)
        answer = _read_answer(read)
        self._workers[pid] = limits
        if answer is None or "failed" in answer:
            self._end(pid)
            return {"refused": answer["failed"] if answer else "the process ended"}
        if grouped:
            answer["mechanisms"]["cgroup"] = "for all workers together"
        else:
            answer["missing"]["cgroup"] = "no control group can be made"
        if "filesystem" not in answer["mechanisms"]:
            self._watched[pid] = command["folder"]
        return {"pid": pid, "isolation": level, "held": answer}

    @staticmethod
    def _child(limits: Any, wanted: Any, descriptors: list[int]) -> None:
        from grader import sandbox

        try:
            held = sandbox.enter(limits, wanted, *descriptors)
        except sandbox.SandboxError as error:
            _tell({"failed": str(error)}, sandbox.STATUS)
            return
        except OSError as error:
            _tell({"failed": error.strerror or "refused"}, sandbox.STATUS)
            return
        _tell(dataclasses.asdict(held), sandbox.STATUS)
        gc.enable()
        become_worker(socket.socket(fileno=sandbox.SOCKET))

    def _bound(self, limits: Any, is_wanted: bool) -> None:
        """Let the control group have what its workers may take, a new one included."""
        if not is_wanted:
            self._group.bound(2**60, 2**20)
            return
        every = [limits, *self._workers.values()]
        memory = sum(each.memory_bytes for each in every) + OWN_BYTES
        self._group.bound(memory, sum(each.tasks + 2 for each in every) + OWN_TASKS)

    def _end(self, pid: int, patience: float = 0.0) -> dict[str, Any]:
        """End a worker; one that is ending by itself has some seconds to say how."""
        if pid not in self._workers:
            return {"status": None}
        deadline = time.monotonic() + patience
        while not _has_ended(pid) and time.monotonic() < deadline:
            time.sleep(0.002)
        try:
            os.killpg(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass  # it has ended by itself, or has not come to setsid yet
        _kill(pid)
        _, status, usage = os.wait4(pid, 0)
        del self._workers[pid]
        self._watched.pop(pid, None)
        self._end_orphans()
        unit = 1 if sys.platform == "darwin" else 1024
        overflowed = pid in self._overflowed
        self._overflowed.discard(pid)
        return {
            "status": status,
            "cpu_seconds": usage.ru_utime + usage.ru_stime,
            "peak_bytes": usage.ru_maxrss * unit,
            "overflowed": overflowed,
        }

    def _end_orphans(self) -> None:
        """Kill what ended workers left running: as subreaper, this process is its parent now."""
        for _ in range(1000):
            orphans = _children() - self._workers.keys()
            if not orphans:
                return
            for pid in orphans:
                _kill(pid)
            for pid in orphans:
                os.waitpid(pid, 0)


def readable_folders() -> list[str]:
    """What a worker may read: what this process imports from, and libraries beside it."""
    folders = [os.path.join(sys.base_prefix, "lib"), *sys.path]
    folders += os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    found = [os.path.abspath(folder) for folder in folders if folder and os.path.isdir(folder)]
    return list(dict.fromkeys([*found, *map(os.path.realpath, found)]))


def _read_answer(read: int) -> dict[str, Any] | None:
    """What a process says of entering, a line of JSON; None when it ends, or takes too long."""
    data = b""
    deadline = time.monotonic() + ENTER_SECONDS
    try:
        while not data.endswith(b"\n") and (left := deadline - time.monotonic()) > 0:
            if not select.select([read], [], [], left)[0]:
                return None
            part = os.read(read, 65536)
            if not part:
                break
            data += part
    finally:
        os.close(read)
    answer: dict[str, Any] | None = json.loads(data) if data else None
    return answer


def _tell(message: dict[str, Any], status: int) -> None:
    os.write(status, json.dumps(message).encode() + b"\n")
    os.close(status)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _has_ended(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def _children() -> set[int]:
    """The children of this process; empty where the system does not tell."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return {int(pid) for pid in file.read().split()}
    except OSError:
        return set()


def main(options: dict[str, Any]) -> None:
    """Start as the options say: `serve`, `paths`, and what the way of serving needs."""
    sys.path.extend(path for path in options["paths"] if path not in sys.path)
    load_needed()
    from grader import sandbox

    if options["serve"] == "fork":
        control = socket.socket(fileno=options["control"])
        group = sandbox.Group(str(os.getpid()))
        warm_up()
        sandbox.adopt_orphans()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the trusted side to handle
        Zygote(control, options["hidden"], group).serve()
    else:
        warm_up()
        if options["trains"]:
            warm_up_training()
        os.chdir(options["folder"])
        sock = socket.create_connection(("127.0.0.1", options["port"]))
        sock.sendall(sys.stdin.readline().strip().encode())
        sandbox.enter_limits(sandbox.Limits(**options["limits"]))
        become_worker(sock)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
