"""seccomp: which system calls a worker may make, and with what arguments.

What is refused answers with an error, so that a program which asks in vain goes on. Numbers are
those of x86-64 and of aarch64; on other processors there is no filter, and so no sandbox.
"""

import ctypes
import os
import struct
from dataclasses import dataclass
from errno import EACCES, ENOSYS, EPERM

from grader.sandbox.system import SandboxError, syscall

# Calls that no worker may make: looking into other processes, starting programs or processes,
# mounting, tracing, keys, rings, shared memory and queues of the machine, its clock and its names.
REFUSED = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "execve": (59, 221),
    "execveat": (322, 281),
    "fork": (57, None),
    "vfork": (58, None),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "mount": (165, 40),
    "umount2": (166, 39),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "personality": (135, 92),
    "modify_ldt": (154, None),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "vmsplice": (278, 75),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmdt": (67, 197),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "semctl": (66, 191),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "io_setup": (206, 0),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "mq_timedsend": (242, 182),
    "mq_timedreceive": (243, 183),
    "mq_notify": (244, 184),
    "mq_getsetattr": (245, 185),
    "seccomp": (317, 277),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "syslog": (103, 116),
    "iopl": (172, None),
    "ioperm": (173, None),
    "lookup_dcookie": (212, 18),
    "vhangup": (153, 58),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
    "statmount": (457, 457),
    "listmount": (458, 458),
}
# Calls that change what the worker's user owns without opening it for writing, which Landlock does
# not control; and looking at folders as they change. Where files are the worker's own these are let
# through.
SHARED = {
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27),
    "truncate": (76, 45),
}
# Calls whose arguments decide.
FILTERED = {
    "clone": (56, 220),
    "clone3": (435, 435),
    "kill": (62, 129),
    "tgkill": (234, 131),
    "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
    "fcntl": (72, 25),
    "ioctl": (16, 29),
    "prctl": (157, 167),
    "socket": (41, 198),
    "socketpair": (53, 199),
}
HIGHEST_KNOWN = 462  # mseal; what came later answers as if it were not there
X32 = 0x40000000

CLONE_THREAD = 0x00010000
CLONE_NAMESPACES = 0x7E020000
F_SETOWN, F_SETSIG, F_SETOWN_EX = 8, 10, 15
TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP = 0x5412, 0x541C, 0x8901, 0x8902
SETFLAGS, FSSETXATTR, ENABLE_VERITY = 0x40086602, 0x401C5820, 0x40806685  # of files, by FS_IOC_…
STREAM, NONBLOCK, CLOEXEC = 1, 0x800, 0x80000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE = 1, 4

LOAD, EQUAL, ABOVE, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x25, 0x35, 0x45, 0x06
ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16  # offsets in what the filter is shown
SET_MODE_FILTER, TSYNC = 1, 1


@dataclass(frozen=True)
class Processor:
    """What differs between processors.

    Attributes:
        column: which of the two numbers in the tables above.
        audit: the kernel's word for the architecture.
        seccomp: the number of seccomp itself.
    """

    column: int
    audit: int
    seccomp: int


PROCESSORS = {
    "x86_64": Processor(0, 0xC000003E, 317),
    "aarch64": Processor(1, 0xC00000B7, 277),
}


class Filter:
    """A program for the kernel's filter machine, built line by line.

    Args:
        processor: what its numbers are for.
    """

    def __init__(self, processor: Processor) -> None:
        self._processor = processor
        self._lines: list[tuple[int, int, int, int]] = []

    def line(self, code: int, value: int, if_true: int = 0, if_false: int = 0) -> None:
        """Add one instruction; jumps count the instructions that they skip."""
        self._lines.append((code, if_true, if_false, value))

    def refuse(self, calls: dict[str, tuple[int, int | None]], error: int) -> None:
        """Answer these calls with an error."""
        for numbers in calls.values():
            number = numbers[self._processor.column]
            if number is not None:
                self.line(EQUAL, number, 0, 1)
                self.line(RETURN, ERROR | error)

    def when(self, name: str, argument: int, tests: list[tuple[int, int, int]]) -> None:
        """Decide a call by the low half of one of its arguments.

        Args:
            name: one of `FILTERED`.
            argument: which argument.
            tests: each a comparison, a value, and what is returned when it holds; the first counts,
                and the call is allowed when none does.
        """
        number = FILTERED[name][self._processor.column]
        assert number is not None
        self.line(EQUAL, number, 0, 2 + 2 * len(tests))
        self.line(LOAD, ARGUMENTS + 8 * argument)
        for comparison, value, result in tests:
            self.line(comparison, value, 0, 1)
            self.line(RETURN, result)
        self.line(RETURN, ALLOW)

    def packed(self) -> bytes:
        """The program as the kernel reads it."""
        return b"".join(struct.pack("=HBBI", *line) for line in self._lines)


def build(processor: Processor, process: int, own_files: bool) -> bytes:
    """The filter's program.

    Args:
        processor: what it is for.
        process: the id of the process that it is for, as the process itself sees it.
        own_files: whether all files that it can reach and does not only read are its own.
    """
    own = [(EQUAL, process, ALLOW), (AT_LEAST, 0, ERROR | EPERM)]
    own_or_self = [(EQUAL, 0, ALLOW), *own]
    made = Filter(processor)
    made.line(LOAD, ARCHITECTURE)
    made.line(EQUAL, processor.audit, 1, 0)
    made.line(RETURN, KILL)
    made.line(LOAD, NUMBER)
    made.line(AT_LEAST, X32, 0, 1)
    made.line(RETURN, KILL)
    made.line(ABOVE, HIGHEST_KNOWN, 0, 1)
    made.line(RETURN, ERROR | ENOSYS)
    made.refuse({"clone3": FILTERED["clone3"]}, ENOSYS)  # libc falls back to clone
    made.refuse({"socket": FILTERED["socket"]}, EACCES)
    made.refuse(REFUSED, EPERM)
    if not own_files:
        made.refuse(SHARED, EPERM)
    made.when(
        "clone",
        0,
        [
            (ANY_BIT, CLONE_NAMESPACES, ERROR | EPERM),
            (ANY_BIT, CLONE_THREAD, ALLOW),
            (AT_LEAST, 0, ERROR | EPERM),
        ],
    )
    made.when("kill", 0, own)
    made.when("tgkill", 0, own)
    made.when("prlimit64", 0, own_or_self)
    made.when("sched_setaffinity", 0, own_or_self)
    made.when("fcntl", 1, [(EQUAL, c, ERROR | EPERM) for c in (F_SETOWN, F_SETSIG, F_SETOWN_EX)])
    # Pairs of sockets that are connected for good; a pair of datagram sockets could send elsewhere.
    kinds = (STREAM, STREAM | NONBLOCK, STREAM | CLOEXEC, STREAM | NONBLOCK | CLOEXEC)
    streams = [(EQUAL, kind, ALLOW) for kind in kinds]
    made.when("socketpair", 1, [*streams, (AT_LEAST, 0, ERROR | EPERM)])
    controls = (
        TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP, SETFLAGS, FSSETXATTR, ENABLE_VERITY,
    )  # fmt: skip
    made.when("ioctl", 1, [(EQUAL, control, ERROR | EPERM) for control in controls])
    options = (PR_SET_PDEATHSIG, PR_SET_DUMPABLE)
    made.when("prctl", 0, [(EQUAL, option, ERROR | EPERM) for option in options])
    made.line(RETURN, ALLOW)
    return made.packed()


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("lines", ctypes.c_char_p)]


def filter_calls(own_files: bool) -> None:
    """Filter the system calls of this process, in all its threads, from now on.

    Args:
        own_files: whether all files that it can reach and does not only read are its own.

    Raises:
        SandboxError: the processor is another one, or the kernel refuses.
    """
    machine = os.uname().machine
    processor = PROCESSORS.get(machine)
    if processor is None or ctypes.sizeof(ctypes.c_void_p) != 8:
        raise SandboxError("seccomp", f"there is no filter for {machine}")
    lines = build(processor, os.getpid(), own_files)
    program = _Program(len(lines) // 8, lines)
    try:
        syscall(processor.seccomp, SET_MODE_FILTER, TSYNC, ctypes.byref(program))
    except OSError as error:
        raise SandboxError("seccomp", error.strerror or "refused") from None
