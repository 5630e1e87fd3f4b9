"""The filter's tables, held against libseccomp; and the program, run on paper."""

import ctypes
import ctypes.util
import struct
from errno import EACCES, ENOSYS, EPERM

import pytest

from grader.sandbox import seccomp
from grader.sandbox.seccomp import ALLOW, ERROR, FILTERED, KILL, PROCESSORS, REFUSED, SHARED, build

TABLES = {**REFUSED, **SHARED, **FILTERED}
X86, ARM = PROCESSORS["x86_64"], PROCESSORS["aarch64"]
# Newer than the oldest libseccomp that is in use.
RECENT = {"statmount", "listmount", "fchmodat2"}


@pytest.fixture(scope="module")
def libseccomp():
    name = ctypes.util.find_library("seccomp") or "libseccomp.so.2"
    try:
        library = ctypes.CDLL(name)
    except OSError:
        pytest.skip("libseccomp is not installed")
    library.seccomp_syscall_resolve_name_arch.argtypes = [ctypes.c_uint32, ctypes.c_char_p]
    return library


@pytest.mark.parametrize("processor", [X86, ARM], ids=["x86_64", "aarch64"])
def test_numbers_are_those_of_libseccomp(libseccomp, processor):
    wrong = {}
    for name, numbers in TABLES.items():
        known = libseccomp.seccomp_syscall_resolve_name_arch(processor.audit, name.encode())
        if name in RECENT and known < 0:
            continue
        expected = known if known >= 0 else None
        if numbers[processor.column] != expected:
            wrong[name] = (numbers[processor.column], expected)
    assert wrong == {}
    own = libseccomp.seccomp_syscall_resolve_name_arch(processor.audit, b"seccomp")
    assert processor.seccomp == own


def decide(program, audit, number, *arguments):
    """What the kernel would make of a call: the filter's language has few instructions."""
    data = struct.pack("=IIQ6Q", number, audit, 0, *(list(arguments) + [0] * 6)[:6])
    lines = list(struct.iter_unpack("=HBBI", program))
    position, value = 0, 0
    while True:
        code, if_true, if_false, constant = lines[position]
        position += 1
        if code == seccomp.LOAD:
            value = struct.unpack_from("=I", data, constant)[0]
        elif code == seccomp.RETURN:
            return constant
        else:
            holds = {
                seccomp.EQUAL: value == constant,
                seccomp.ABOVE: value > constant,
                seccomp.AT_LEAST: value >= constant,
                seccomp.ANY_BIT: bool(value & constant),
            }[code]
            position += if_true if holds else if_false


@pytest.mark.parametrize("processor", [X86, ARM], ids=["x86_64", "aarch64"])
@pytest.mark.parametrize("own_files", [True, False])
def test_every_call_is_decided_as_the_tables_say(processor, own_files):
    program = build(processor, 77, own_files)
    for name, numbers in REFUSED.items():
        number = numbers[processor.column]
        if number is not None:
            assert decide(program, processor.audit, number) == ERROR | EPERM, name
    for name, numbers in SHARED.items():
        number = numbers[processor.column]
        if number is not None:
            wanted = ALLOW if own_files else ERROR | EPERM
            assert decide(program, processor.audit, number) == wanted, name
    known = {numbers[processor.column] for numbers in TABLES.values()}
    for number in set(range(seccomp.HIGHEST_KNOWN + 1)) - known:
        assert decide(program, processor.audit, number, 1, 2, 3) == ALLOW, number
    for number in (seccomp.HIGHEST_KNOWN + 1, 1000, 0x3FFFFFFF):
        assert decide(program, processor.audit, number) == ERROR | ENOSYS
    assert decide(program, processor.audit, 0x40000000) == KILL
    assert decide(program, processor.audit ^ 0x80000000, 1) == KILL


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("socket", (2, 1, 0), ERROR | EACCES),
        ("clone3", (0, 88), ERROR | ENOSYS),
        ("clone", (0x3D0F00,), ALLOW),  # a thread of libc's
        ("clone", (0x01200011,), ERROR | EPERM),  # fork
        ("clone", (0x3D0F00 | 0x10000000,), ERROR | EPERM),  # a thread in a new user namespace
        ("kill", (77, 9), ALLOW),
        ("kill", (78, 9), ERROR | EPERM),
        ("kill", (0, 9), ERROR | EPERM),
        ("kill", (2**64 - 1, 9), ERROR | EPERM),  # -1: everybody
        ("kill", (2**64 - 77, 9), ERROR | EPERM),  # its own group
        ("kill", (77 + 2**32, 9), ALLOW),  # the kernel takes the lower half, too
        ("tgkill", (77, 78, 6), ALLOW),
        ("tgkill", (5, 5, 6), ERROR | EPERM),
        ("prlimit64", (0, 7), ALLOW),
        ("prlimit64", (77, 7), ALLOW),
        ("prlimit64", (1, 7), ERROR | EPERM),
        ("sched_setaffinity", (0,), ALLOW),
        ("sched_setaffinity", (1,), ERROR | EPERM),
        ("fcntl", (3, 1), ALLOW),
        ("fcntl", (3, 8, 1), ERROR | EPERM),
        ("fcntl", (3, 10, 9), ERROR | EPERM),
        ("fcntl", (3, 15), ERROR | EPERM),
        ("ioctl", (1, 0x5401), ALLOW),
        ("ioctl", (1, 0x5412), ERROR | EPERM),
        ("ioctl", (1, 0x541C), ERROR | EPERM),
        ("ioctl", (1, 0x8901), ERROR | EPERM),
        ("ioctl", (3, 0x40086602), ERROR | EPERM),
        ("socketpair", (1, 1), ALLOW),
        ("socketpair", (1, 0x80801), ALLOW),
        ("socketpair", (1, 2), ERROR | EPERM),
        ("socketpair", (1, 0x80002), ERROR | EPERM),
        ("prctl", (1, 0), ERROR | EPERM),
        ("prctl", (15, 0), ALLOW),
    ],
)
@pytest.mark.parametrize("processor", [X86, ARM], ids=["x86_64", "aarch64"])
def test_arguments_decide(processor, name, arguments, result):
    program = build(processor, 77, own_files=True)
    number = FILTERED[name][processor.column]
    assert decide(program, processor.audit, number, *arguments) == result
