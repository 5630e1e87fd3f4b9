"""The calls of gradings again, in one warm process without any grading: the floor of the benchmark.

    python benchmarks/replay.py FOLDER [--trains]

FOLDER holds what `record` wrote: for each worker of each submission, the frames that it was sent.
Here a `Runtime` carries them out. Only its operations are timed: loading the submission, calls, and
what a call is asked besides, such as gradients. Not timed, and so not part of the floor: reading
frames, decoding arguments, putting back random generators, encoding answers. Nothing watches the
calls, and no device is stood in for. The process has imported torch, and what earlier submissions
imported, and it has no sandbox: use it only on submissions that are trusted.

Beside that, the same requests are answered as a worker answers them, with all that the floor leaves
out but the socket and the sandbox; in a process that is forked for it, since what a worker puts
around a submission stays.

It prints a line of JSON for each submission: name, wall-clock and processor seconds of the calls,
wall-clock seconds of a worker, requests, and whether those raised that raised in the grading.
"""

import argparse
import builtins
import gc
import json
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch

from grader.sandbox import Limits
from grader.worker.client import ForkLauncher, Worker
from grader.worker.protocol import PREFIX
from grader.worker.runtime import Runtime
from grader.worker.zygote import run_eagerly, warm_up_training, without_processes


class Recorder(ForkLauncher):
    """A launcher that keeps what its workers are sent and whether their answers were faults.

    Attributes:
        kept: for each worker the frames that were sent; of each the fault that was answered.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[tuple[list[bytes], list[bool]]] = []

    def start(self, limits: Limits, trains: bool = False) -> Worker:
        """A worker whose requests are kept."""
        worker = super().start(limits, trains)
        frames: list[bytes] = []
        faults: list[bool] = []
        self.kept.append((frames, faults))
        channel: Any = worker._channel
        send, receive = channel.send, channel.receive

        def keep(frame: bytes, deadline: float | None = None) -> None:
            frames.append(bytes(frame))
            send(frame, deadline)

        def see(deadline: float | None = None) -> tuple[bytes, bytes]:
            head, body = receive(deadline)
            faults.append("fault" in json.loads(head))
            return head, body

        channel.send, channel.receive = keep, see
        return worker

    def write(self, folder: Path, name: str) -> bool:
        """Write what was kept since the last time; False where a call came to no answer.

        Args:
            folder: where to.
            name: of the submission.
        """
        kept, self.kept = self.kept, []
        kept = [(frames, faults) for frames, faults in kept if frames]
        if not kept or any(len(frames) != len(faults) for frames, faults in kept):
            return False
        (folder / name).mkdir(parents=True)
        for number, (frames, faults) in enumerate(kept):
            (folder / name / f"{number}.frames").write_bytes(b"".join(frames))
            (folder / name / f"{number}.faults").write_text(json.dumps(faults))
        return True


class Replay:
    """One worker's requests, carried out here.

    Attributes:
        wall: seconds in the runtime's operations.
        cpu: processor seconds in them.
        raised: for each request whether it raised.
    """

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0
        self.raised: list[bool] = []
        self._runtime = Runtime(None)  # type: ignore[arg-type]
        operations = self._runtime._operations
        for name, operation in operations.items():
            operations[name] = partial(self._timed, name, operation)

    def carry_out(self, head: bytes, body: bytes) -> None:
        """Answer one request, timing its operation alone."""
        answer = self._runtime._answer(head, body)
        length = PREFIX.unpack_from(answer)[1]
        self.raised.append("fault" in json.loads(answer[PREFIX.size : PREFIX.size + length]))

    def _timed(self, name: str, operation: Any, arguments: dict[str, Any]) -> Any:
        if name == "load":
            arguments |= {"on_cpu": False, "disallowed": ()}
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            return operation(arguments)
        finally:
            self.wall += time.perf_counter() - wall
            self.cpu += time.process_time() - cpu


def replay(folder: Path) -> dict[str, Any]:
    """Carry out what one submission was asked, and leave this process as it was."""
    workers = []
    for path in sorted(folder.glob("*.frames"), key=lambda path: int(path.stem)):
        expected = json.loads(path.with_suffix(".faults").read_text())
        workers.append((list(frames_of(path.read_bytes())), expected))
    wall = cpu = calls = 0.0
    agrees = True
    for frames, expected in workers:
        finders, modules = list(sys.meta_path), set(sys.modules)
        worker = Replay()
        for head, body in frames:
            worker.carry_out(head, body)
        wall, cpu, calls = wall + worker.wall, cpu + worker.cpu, calls + len(frames)
        agrees = agrees and worker.raised == expected
        del worker
        sys.meta_path[:] = finders
        for name in set(sys.modules) - modules:
            file = getattr(sys.modules[name], "__file__", None)
            if file is None or not os.path.isfile(file):  # the submission's, and stand-ins
                del sys.modules[name]
        for name in ("display", "get_ipython"):
            if hasattr(builtins, name):
                delattr(builtins, name)
        gc.collect()
    return {"name": folder.name, "wall": wall, "cpu": cpu, "calls": calls, "agrees": agrees}


def as_worker(folder: Path) -> float:
    """Seconds in which a fork of this process answers what the submission's workers were asked."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, str(_answered(folder)).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as end:
        seconds = float(end.read() or "nan")
    os.waitpid(pid, 0)
    return seconds


def _answered(folder: Path) -> float:
    seconds = 0.0
    for path in folder.glob("*.frames"):
        frames = list(frames_of(path.read_bytes()))
        runtime = Runtime(None)  # type: ignore[arg-type]
        begun = time.perf_counter()
        for head, body in frames:
            runtime._answer(head, body)
        seconds += time.perf_counter() - begun
    return seconds


def frames_of(data: bytes) -> Any:
    """Header and body of each frame."""
    at = 0
    while at < len(data):
        _, head, body = PREFIX.unpack_from(data, at)
        at += PREFIX.size
        yield data[at : at + head], data[at + head : at + head + body]
        at += head + body


def main() -> None:
    """Replay every submission of a folder, the first once more before, which warms up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trains", action="store_true")
    options = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # submissions may print
    torch.set_num_threads(1)
    if options.trains:
        warm_up_training()
    run_eagerly()
    without_processes()
    folders = sorted(options.folder.iterdir())
    replay(folders[0])
    gc.freeze()
    for folder in folders:
        figures = {**replay(folder), "worker": as_worker(folder)}
        print(json.dumps(figures), file=answers, flush=True)


if __name__ == "__main__":
    main()
