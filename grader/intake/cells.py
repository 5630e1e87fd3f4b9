"""Reads a notebook's cell as plain Python, with every line where it was.

What only a notebook's shell understands is replaced by what does nothing in its place: magics,
shell lines, help, prompts that were copied along. A line is taken for such only where the parser
stumbles over it, so what merely looks like one, inside a string or a broken-up expression, stays.
"""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from grader.intake.definitions import is_main_guard
from grader.intake.text import parse, shown_line, writable

ASSIGNED = re.compile(r"(\s*[\w.\[\]'\", ]+?)\s*=\s*[!%]")  # x = !ls, x = %pwd
HELP = re.compile(r"\s*[%\w.\[\]*]+\?{1,2}\s*$|\s*\?{1,2}[%\w.*]+\s*$")  # name?, ?name, name??
PROMPT = re.compile(r"(\s*)(?:In \[\d+\]: |>>> |\.\.\. |\s*\.\.\.+: )")
PYTHON_MAGICS = {"%time", "%timeit", "%prun", "%memit", "%lprun", "%mprun"}
PYTHON_CELLS = {
    "%%time", "%%timeit", "%%capture", "%%prun", "%%memit", "%%debug", "%%px", "%%wandb",
    "%%python3", "%%mypy", "%%heat", "%%cell",
}  # fmt: skip
OTHER_CELLS = {
    "%%bash", "%%sh", "%%script", "%%cmd", "%%system", "%%sx", "%%!", "%%html", "%%HTML", "%%svg",
    "%%SVG", "%%js", "%%javascript", "%%latex", "%%markdown", "%%perl", "%%ruby", "%%R", "%%julia",
    "%%cython", "%%cuda", "%%cpp", "%%sql", "%%python", "%%python2", "%%pypy", "%%skip",
    "%%shell", "%%manim",
}  # fmt: skip
FILE_CELLS = {"%%writefile", "%%file"}
COMMAND = re.compile(r"\s*([\w-]+)\s+[-\w./~$\"'{]")
COMMANDS = {  # what IPython runs without a sign before it, and what was pasted from a terminal
    "pip", "pip3", "conda", "mamba", "uv", "ls", "cd", "pwd", "cp", "mv", "rm", "mkdir", "rmdir",
    "cat", "git", "wget", "curl", "unzip", "apt", "apt-get", "python", "python3", "nvidia-smi",
    "jupyter", "source", "export", "echo", "sudo",
}  # fmt: skip
MAX_STUMBLES = 200  # of the parser over one cell


@dataclass
class Cell:
    """A cell as plain Python.

    Attributes:
        text: with as many lines as the cell has.
        skipped: what was left out: line in the cell, counted from 1, and its text.
        file: the name of the file that the cell writes its text to, or None.
        appends: whether it adds to the file.
    """

    text: str
    skipped: list[tuple[int, str]] = field(default_factory=list)
    file: str | None = None
    appends: bool = False


def read_cell(source: str) -> Cell:
    """The cell as plain Python.

    Args:
        source: ends in a newline.

    Raises:
        SyntaxError: it is no Python, even without what is the shell's.
    """
    lines = source.split("\n")
    first = next((index for index, line in enumerate(lines) if line.strip()), 0)
    head = lines[first].strip()
    skipped: list[tuple[int, str]] = []
    if head.startswith("%%"):
        magic = head.split()[0]
        if magic in FILE_CELLS:
            return _file(lines, first, source)
        skipped.append((first + 1, shown_line(head, 1)))
        lines[: first + 1] = [""] * (first + 1)
        if magic in OTHER_CELLS or (magic not in PYTHON_CELLS and not _is_python(lines)):
            return Cell("\n" * source.count("\n"), skipped)
        # IPython allows for more cell magics, and for options on the line.
        if lines[first + 1 : first + 2] and lines[first + 1].lstrip().startswith("%%"):
            inner = read_cell("\n".join(lines))
            return Cell(inner.text, skipped + inner.skipped)
    _unprompt(lines)
    _unindent(lines)
    for _ in range(MAX_STUMBLES):
        text = "\n".join(lines)
        try:
            parse(text)
        except SyntaxError as error:
            row = _shell_line(lines, (error.lineno or 1) - 1)
            if row is None:
                raise
            shown = shown_line(lines[row], 1)
            if not _replace(lines, row):
                skipped.append((row + 1, shown))
        else:
            return Cell(_without_main_guard(text), skipped)
    raise SyntaxError("more shell lines than Python")


def _without_main_guard(text: str) -> str:
    """The cell with what stands under `if __name__ == "__main__":`, since in a notebook it runs."""
    lines = text.split("\n")
    for node in parse(text).body:
        if isinstance(node, ast.If) and is_main_guard(node.test) and not node.orelse:
            first = node.body[0]
            if first.lineno == node.lineno:
                continue  # all in one line
            indent = " " * first.col_offset
            for row in range(node.lineno - 1, first.lineno - 1):
                lines[row] = ""
            for row in range(first.lineno - 1, node.end_lineno or 0):
                lines[row] = lines[row].removeprefix(indent)
    changed = "\n".join(lines)
    return changed if changed == text or _is_python(lines) else text


def _is_python(lines: list[str]) -> bool:
    """Whether what stands below a magic that nobody knows is Python."""
    try:
        parse("\n".join(lines))
    except SyntaxError:
        return False
    return True


def _file(lines: list[str], first: int, source: str) -> Cell:
    """The cell that writes itself to a file; other than Python files are left out."""
    words = lines[first].split()[1:]
    names = [word.strip("\"'") for word in words if not word.startswith("-")]
    shown = [(first + 1, shown_line(lines[first], 1))]
    if not names or not names[0].lower().endswith(".py"):
        return Cell("\n" * source.count("\n"), shown)
    name = PurePosixPath(writable(names[0].replace("\\", "/")))
    parts = [part for part in name.parts if part not in ("/", "..", ".", "~")]
    body = "\n".join([""] * (first + 1) + lines[first + 1 :])
    parse(body)
    return Cell(body, shown, "/".join(parts), appends="-a" in words or "--append" in words)


def _unprompt(lines: list[str]) -> None:
    """Take away the prompts of a session that was pasted, where every statement has one."""
    written = [line for line in lines if line.strip()]
    prompt = PROMPT.match(written[0]) if written else None
    if prompt and (prompt[0].startswith("In [") or not _is_python(lines)):  # In[3]: int is Python
        lines[:] = [PROMPT.sub(r"\1", line, count=1) for line in lines]


def _unindent(lines: list[str]) -> None:
    """Take away the indentation of a cell that is indented as a whole."""
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    if indent and not _is_python(lines):
        lines[:] = [line.removeprefix(indent) for line in lines]


def _shell_line(lines: list[str], near: int) -> int | None:
    """The line at the parser's complaint, or before it, that is for a notebook's shell."""
    for row in (near, near - 1):
        if 0 <= row < len(lines):
            stripped = lines[row].strip()
            if stripped.startswith(("!", "%", "?")) or ASSIGNED.match(lines[row]):
                return row
            command = COMMAND.match(lines[row])
            if HELP.match(lines[row]) or (command and command[1] in COMMANDS):
                return row
    return None


def _replace(lines: list[str], row: int) -> bool:
    """Put what does nothing in place of a shell line and of the lines that continue it.

    Returns:
        Whether it was a magic around a Python statement, which stays.
    """
    line = lines[row]
    indent = line[: len(line) - len(line.lstrip())]
    word, _, rest = line.strip().partition(" ")
    for rescue in _RESCUES:
        kept = rescue(word, rest.strip())
        if kept is not None:
            lines[row] = indent + kept
            return True
    assigned = ASSIGNED.match(line)
    continued = line.rstrip().endswith("\\")
    lines[row] = f"{assigned[1]} = None" if assigned else f"{indent}pass"
    while continued and row + 1 < len(lines):
        row += 1
        continued = lines[row].rstrip().endswith("\\")
        lines[row] = ""
    return False


def _timed(word: str, rest: str) -> str | None:
    """The statement that a line magic times."""
    if word not in PYTHON_MAGICS or word == "%timeit":  # which leaves no names behind
        return None
    return rest if rest and _is_python([rest]) else None


def _run(word: str, rest: str) -> str | None:
    """An import of everything, for `%run` of a module or notebook that was handed in too."""
    name = rest.strip("\"'").removeprefix("./")
    stem = re.sub(r"\.(py|ipynb)$", "", name).replace("/", ".")
    is_module = all(part.isidentifier() for part in stem.split("."))
    return f"from {stem} import *" if word == "%run" and is_module else None


_RESCUES: tuple[Callable[[str, str], str | None], ...] = (_timed, _run)
