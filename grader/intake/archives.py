"""Looks into archives without writing anything: their files one by one, within limits.

What would leave the folder that it is unpacked in (links, absolute names, `..`) is left out, and so
is what is no file at all. Whatever cannot be read whole is refused in a sentence.
"""

import bz2
import gzip
import io
import lzma
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from grader.errors import InputError

MAX_ENTRIES = 20_000
MAX_UNPACKED = 500 * 2**20  # bytes of a compressed tar that are looked through
UNREADABLE = {
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
}
PACKED: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
ENDINGS = (".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".7z", ".rar", ".zst")
DAMAGE = (
    zipfile.BadZipFile, tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError,
    struct.error, ValueError, IndexError, KeyError, RuntimeError, OverflowError,
)  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A file in an archive or a folder.

    Attributes:
        name: its path, with forward slashes.
        size: bytes, as the archive says.
        read: its contents, no more than so many bytes; while the archive is open.
        left_out: why it is not to be read, or None.
    """

    name: str
    size: int
    read: Callable[[int], bytes]
    left_out: str | None = None


def is_archive(head: bytes) -> bool:
    """Whether a file's first 512 bytes are those of an archive, readable or not."""
    zips = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
    return head.startswith((*zips, *UNREADABLE, *PACKED)) or head[257:262] == b"ustar"


def entries(archive: Path | bytes, name: str) -> Iterator[Entry]:
    """The files in an archive, in its order.

    Args:
        archive: its file, or its bytes.
        name: what messages call it.

    Raises:
        InputError: it is encrypted, damaged, of a kind that is not read, or holds too many files.
    """
    with _refusing(name), _opened(archive) as file:
        head = file.read(512)
        file.seek(0)
        for start, kind in UNREADABLE.items():
            if head.startswith(start):
                raise InputError(
                    f"{name} is {kind}, which is not read: hand in a zip or the files."
                )
        found = _zip(file, name) if head[:2] == b"PK" else _tar(file, head, name)
        for number, entry in enumerate(found):
            if number >= MAX_ENTRIES:
                raise InputError(f"{name} holds more than {MAX_ENTRIES} files.")
            yield entry


@contextmanager
def _refusing(name: str) -> Iterator[None]:
    """Turn what a damaged archive runs a library into into a sentence."""
    try:
        yield
    except NotImplementedError:
        raise InputError(
            f"{name} is compressed in a way that is not read: zip it with another program."
        ) from None
    except DAMAGE as error:
        reason = str(error).splitlines()[0][:80] if str(error) else type(error).__name__
        raise InputError(f"{name} is damaged ({reason}): pack it again.") from None


def _opened(archive: Path | bytes) -> IO[bytes]:
    return io.BytesIO(archive) if isinstance(archive, bytes) else open(archive, "rb")


def _zip(file: IO[bytes], name: str) -> Iterator[Entry]:
    with zipfile.ZipFile(file) as packed:
        for info in packed.infolist():
            if info.is_dir():
                continue
            if info.flag_bits & 0x1:
                raise InputError(f"{name} is encrypted: hand it in without a password.")
            inner = info.filename.replace("\\", "/")
            mode = info.external_attr >> 16
            is_link = stat.S_ISLNK(mode)

            def read(limit: int, info: zipfile.ZipInfo = info) -> bytes:
                with _refusing(name), packed.open(info) as member:
                    return member.read(limit)

            yield Entry(inner, info.file_size, read, "a link" if is_link else _outside(inner))


def _tar(file: IO[bytes], head: bytes, name: str) -> Iterator[Entry]:
    opener = next((o for start, o in PACKED.items() if head.startswith(start)), None)
    stream = _Counted(opener(file) if opener else file, name)
    with tarfile.open(fileobj=stream, mode="r|") as packed:  # type: ignore[call-overload]
        for member in packed:
            if member.isdir():
                continue

            def read(limit: int, member: tarfile.TarInfo = member) -> bytes:
                with _refusing(name):
                    content = packed.extractfile(member)
                    data = content.read(limit) if content else b""
                    if len(data) < min(limit, member.size):
                        raise EOFError("it ends too early")
                    return data

            inner = member.name.replace("\\", "/")
            linked = member.islnk() or member.issym()
            special = "a link" if linked else None if member.isfile() else "no file"
            yield Entry(inner, member.size, read, special or _outside(inner))
    while stream.read(2**20):
        pass  # a compressed stream has its checksum at its end


def _outside(name: str) -> str | None:
    """Why a name is none below the folder that the archive is unpacked in; None if it is."""
    if name.startswith("/") or re.match(r"[A-Za-z]:", name):
        return "an absolute path"
    if ".." in PurePosixPath(name).parts:
        return "a path that leaves the folder"
    if "\x00" in name or not name.strip("/ "):
        return "a name that is none"
    return None


class _Counted:
    """A stream that ends with InputError after too many bytes, so that no bomb goes off."""

    def __init__(self, stream: Any, name: str) -> None:
        self._stream = stream
        self._name = name
        self._left = MAX_UNPACKED

    def read(self, size: int) -> bytes:
        """The next bytes."""
        data: bytes = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise InputError(
                f"{self._name} unpacks to more than {MAX_UNPACKED // 2**20} MB: "
                "hand in only your own source."
            )
        return data
