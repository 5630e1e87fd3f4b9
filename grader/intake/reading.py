"""Reads submissions in a process of its own, with limits, so that no file can stop a batch.

    with Reading() as reading:
        submission = reading.read(Path("model.ipynb"), "model.ipynb")

The process runs this file. It is asked over its standard input and answers over its output, each
message a line of JSON; it reads one submission after the other. One that takes too long or too much
memory ends it, and is refused; the next one gets a new process.
"""

import base64
import dataclasses
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from grader.errors import InputError
from grader.intake import archives
from grader.intake.files import Gathered, collect, ending
from grader.intake.metadata import gradescope_submitters
from grader.intake.neighbours import with_neighbours
from grader.intake.reader import digest, read
from grader.intake.submission import Chunk, Location, Note, Source, Submission
from grader.intake.text import writable

CPU_SECONDS = 4.0  # for one submission
WALL_SECONDS = 60.0  # on a machine that is busy with other things, with the start of the process
MEMORY_BYTES = 2 * 2**30
MAX_ANSWER = 300 * 2**20  # bytes


class Reading:
    """The trusted end. Starts its process when first asked, and a new one when that has ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def read(
        self,
        what: Path | Mapping[str, bytes],
        name: str,
        inside: Mapping[str, str] | None = None,
        notes: Iterable[Note] = (),
    ) -> Submission:
        """The submission that a file, a folder, an archive, or some files are.

        Args and errors are those of `begin`.
        """
        return self.begin(what, name, inside, notes=notes)()

    def gather(
        self, path: Path, name: str, inside: Mapping[str, str] | None = None
    ) -> tuple[Gathered, str]:
        """The files of a submission, not yet looked into, and the digest over them.

        Args and errors are those of `begin`.
        """
        request = {"name": writable(name), "gather": True, "inside": inside and dict(inside)}
        answer = self._send({**request, **_place(path)})()
        return unpacked(answer), answer["digest"]

    def begin(
        self,
        what: Path | Mapping[str, bytes],
        name: str,
        inside: Mapping[str, str] | None = None,
        neighbours: bool = False,
        notes: Iterable[Note] = (),
    ) -> Callable[[], Submission]:
        """Have a submission read while the caller does other things; call the result to get it.

        Whatever was begun before must have been got.

        Args:
            what: where it lies, or its files' contents by relative path.
            name: what it is called in reports.
            inside: the part of the folder or archive that is meant, as for `collect`.
            neighbours: whether what a file imports from its folder belongs to it.
            notes: what its reader should know already, where its files are given.

        Returns:
            A function that raises InputError when it is none, or when reading it takes more than
            the limits allow.
        """
        request: dict[str, Any] = {"name": writable(name), "inside": inside and dict(inside)}
        if isinstance(what, Path):
            request |= {"neighbours": neighbours, **_place(what)}
        else:
            request |= packed(Gathered(dict(what), tuple(notes)))
        answer = self._send(request)
        return lambda: _submission(answer())

    def names(self, archive: Path) -> list[str]:
        """The paths of the files in an archive; raises InputError."""
        request = {"name": archive.name, "list": True, **_place(archive)}
        names: list[str] = self._send(request)()["names"]
        return names

    def submitters(self, download: Path, metadata: str) -> dict[str, tuple[list[str], str]]:
        """Whose the submissions of a Gradescope export are: ids and time by submission's number.

        Empty where the metadata cannot be read.

        Args:
            download: the export, a folder or an archive.
            metadata: the path of its `submission_metadata.yml` in it.
        """
        request = {"name": metadata, "metadata": metadata, **_place(download)}
        try:
            found = self._send(request)()["submitters"]
        except InputError:
            return {}
        return {number: (ids, when) for number, (ids, when) in found.items()}

    def _send(self, request: dict[str, Any]) -> Callable[[], dict[str, Any]]:
        """Send a request; what is returned waits for the answer."""
        process = self._process or self._start()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        except OSError:
            pass  # it has ended, as asking for its answer will show

        def answer() -> dict[str, Any]:
            found = self._answer(process, request["name"])
            if "refused" in found:
                raise InputError(**found["refused"])
            return found

        return answer

    def _start(self) -> "subprocess.Popen[bytes]":
        code = "import sys; sys.path[:] = sys.argv[1:]; from grader.intake.reading import serve"
        self._process = subprocess.Popen(
            [sys.executable, "-s", "-P", "-S", "-c", f"{code}; serve()", *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"PATH": os.defpath, "PYTHONWARNINGS": "ignore", "PYTHONUTF8": "1"},
            start_new_session=True,
        )
        return self._process

    def _answer(self, process: "subprocess.Popen[bytes]", name: str) -> dict[str, Any]:
        """Wait for the process's answer; refuses the submission where none comes."""
        assert process.stdout is not None
        deadline = threading.Timer(WALL_SECONDS, process.kill)
        deadline.start()
        try:
            answer: dict[str, Any] = json.loads(process.stdout.readline(MAX_ANSWER))
        except (OSError, ValueError):
            self.close()
            raise InputError(
                f"{name} takes more than {CPU_SECONDS:g} s or {MEMORY_BYTES // 2**30} GB to be "
                "read: hand in only your own source."
            ) from None
        finally:
            deadline.cancel()
        return answer

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    try:
                        pipe.close()
                    except OSError:
                        pass  # what was still to be written has nobody to read it

    def __enter__(self) -> "Reading":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _place(path: Path) -> dict[str, str]:
    """A path as a request has it, and as messages show it."""
    return {
        "path": base64.b64encode(os.fsencode(path.absolute())).decode(),
        "shown": str(path),
    }


def _submission(answer: dict[str, Any]) -> Submission:
    """The submission that an answer describes."""
    return Submission(
        name=answer["name"],
        digest=answer["digest"],
        sources={
            path: Source(path, tuple(Chunk(**c) for c in source["chunks"]), source["written_in"])
            for path, source in answer["sources"].items()
        },
        broken={path: _note(note) for path, note in answer["broken"].items()},
        notes=tuple(_note(note) for note in answer["notes"]),
    )


def packed_files(files: Mapping[str, bytes]) -> dict[str, str]:
    """Files' contents as JSON has them; `unpacked_files` is the way back."""
    return {path: base64.b64encode(data).decode() for path, data in files.items()}


def unpacked_files(files: Mapping[str, str]) -> dict[str, bytes]:
    """What `packed_files` made JSON of."""
    return {path: base64.b64decode(data) for path, data in files.items()}


def packed(gathered: Gathered) -> dict[str, Any]:
    """Files and notes as JSON has them; `unpacked` is the way back."""
    return {
        "files": packed_files(gathered.files),
        "notes": [dataclasses.asdict(note) for note in gathered.notes],
    }


def unpacked(values: Mapping[str, Any]) -> Gathered:
    """What `packed` made JSON of."""
    return Gathered(unpacked_files(values["files"]), tuple(map(_note, values["notes"])))


def _note(note: dict[str, Any]) -> Note:
    place = note["location"]
    return Note(note["kind"], note["message"], place and Location(**place), tuple(note["defines"]))


# the process


def serve() -> None:
    """Answer requests on standard input until it ends; the other end of `Reading`."""
    _limit_memory()
    for line in sys.stdin.buffer:
        with _limited_time():
            answer = _answer(json.loads(line))
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    path = Path(os.fsdecode(base64.b64decode(request.get("path", ""))))
    try:
        try:
            if "list" in request:
                return {"names": [writable(e.name) for e in archives.entries(path, path.name)]}
            if "metadata" in request:
                return {"submitters": gradescope_submitters(path, request["metadata"])}
            if "files" in request:
                given = unpacked(request)
                return dataclasses.asdict(read(given.files, request["name"], given.notes))
            if "gather" in request:
                found = collect(path, request["inside"])
                return {**packed(found), "digest": digest(found.files)}
            if request["neighbours"] and path.is_file() and ending(path.name):
                gathered = with_neighbours(path)
            else:
                gathered = collect(path, request["inside"])
            return dataclasses.asdict(read(gathered.files, request["name"], gathered.notes))
        except InputError as error:  # it names the path as this process was told it
            if "shown" in request:
                error.args = (str(error).replace(str(path), request["shown"]),)
            raise
    except InputError as error:
        place = {"file": error.file, "line": error.line, "cell": error.cell}
        return {"refused": {"message": writable(str(error)), **place}}


def _limit_memory() -> None:
    """Let this process have so much memory and no more, where the system can see to that."""
    from grader.sandbox.limits import limit_memory

    limit_memory(MEMORY_BYTES)


class _limited_time:  # noqa: N801
    """End this process when the body takes too much processor time."""

    def __enter__(self) -> None:
        self._set(CPU_SECONDS)

    def __exit__(self, *_: object) -> None:
        self._set(0)

    @staticmethod
    def _set(seconds: float) -> None:
        try:
            import signal

            signal.setitimer(signal.ITIMER_PROF, seconds)  # SIGPROF ends a process
        except (ImportError, AttributeError):
            pass  # there are no such timers on Windows: the wall clock still holds
