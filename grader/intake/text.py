"""From bytes to text: encodings, line ends, and characters that hide what a program does."""

import ast
import codecs
import io
import re
import tokenize
import warnings
from collections.abc import Iterator

from grader.errors import InputError

ENCODINGS = {"utf-8", "utf-8-sig", "ascii", "iso8859-1", "iso8859-15", "cp1252"}
WIDE = ("utf-16-le", "utf-16-be")
MAX_NODES = 200_000  # of a syntax tree; a thousand lines have about 15,000
MAX_LINES = 100_000
MAX_NESTING = 1_000  # of a syntax tree: what recursion over it can take, and no hand reaches
BIDI = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")
SHOWN = 120  # characters of a line in a message


def decode(path: str, data: bytes) -> str:
    """The text of a file, by its byte order mark or coding line, with newlines as Python has them.

    What is in no encoding that it names is taken for Latin-1, in which every byte is a character.

    Raises:
        InputError: it names an encoding that could hide code, or one that nobody reads.
    """
    encoding = _encoding(data)
    if encoding not in WIDE and _lookup(encoding) not in ENCODINGS:
        raise InputError(f"{path} is in the encoding {encoding[:40]}: save it as UTF-8.", path)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode("iso8859-1")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return text.removesuffix("\x1a")  # what DOS ends a file with


def _encoding(data: bytes) -> str:
    """The name of the encoding that a file says or shows to have."""
    for mark, encoding in ((codecs.BOM_UTF16_LE, WIDE[0]), (codecs.BOM_UTF16_BE, WIDE[1])):
        if data.startswith(mark):
            return encoding
    head = data[:512]
    if len(head) >= 4 and b"\x00" in head:  # Latin letters in 16 bits, without a mark
        for first, encoding in ((1, WIDE[0]), (0, WIDE[1])):
            if set(head[first::2]) == {0} and 0 not in head[1 - first :: 2]:
                return encoding
    try:
        return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError:
        said = re.match(rb"(?:[^\n]*\n)?[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", data[:1000])
        return said[1].decode("ascii", "replace") if said else "utf-8"


def _lookup(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        return "unknown"


def writable(text: str) -> str:
    """Text that can be written anywhere: half a surrogate pair becomes what stands for it."""
    return text.encode("utf-8", "backslashreplace").decode()


def shown_line(text: str, line: int) -> str:
    """A line of a text, counted from 1, as far as a message has room for it."""
    lines = text.split("\n")
    return writable(lines[line - 1].strip()[:SHOWN]) if 0 < line <= len(lines) else ""


def hidden_directions(text: str) -> Iterator[tuple[int, str]]:
    """Characters that make a line read otherwise than it runs: line and name of each first one."""
    if BIDI.search(text):
        for number, line in enumerate(text.split("\n"), start=1):
            found = BIDI.search(line)
            if found:
                yield number, f"U+{ord(found[0]):04X}"


def parse(text: str) -> ast.Module:
    """The syntax tree of Python source that also compiles and is not too large to be walked.

    Raises:
        SyntaxError: it is no Python, or more of it than anybody writes by hand.
    """
    if text.count("\n") > MAX_LINES:  # before anything is spent on them
        raise SyntaxError("more code than anybody writes by hand")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            _expect_modest(tree)
            compile(tree, "<submission>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise SyntaxError(str(error) or type(error).__name__) from None
    return tree


def _expect_modest(tree: ast.Module) -> None:
    """Raise SyntaxError for a tree that is too large or too deep to be worked with."""
    count = 0
    level: list[ast.AST] = [tree]
    for _ in range(MAX_NESTING):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
        count += len(level)
        if count > MAX_NODES:
            raise SyntaxError("more code than anybody writes by hand")
    line = next((n.lineno for n in level if hasattr(n, "lineno")), 1)
    raise SyntaxError("nested too deeply", (None, line, None, None))
