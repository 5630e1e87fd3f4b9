"""Capabilities: none is left, nor can any be had again."""

import ctypes

from grader.sandbox.system import SandboxError, call, prctl

CAPBSET_DROP, AMBIENT, AMBIENT_CLEAR_ALL = 24, 47, 4
NO_NEW_PRIVS = 38
VERSION_3 = 0x20080522
HIGHEST = 63


class _Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _Data(ctypes.Structure):
    _fields_ = [
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    ]


def drop_bounding_set() -> None:
    """Take every capability out of the bounding set, as far as the process may."""
    for number in range(HIGHEST + 1):
        try:
            prctl(CAPBSET_DROP, number)
        except OSError:
            break  # the kernel knows no more of them, or the process had none


def drop_capabilities() -> None:
    """Give up every capability.

    Raises:
        SandboxError: the system refuses.
    """
    try:
        prctl(AMBIENT, AMBIENT_CLEAR_ALL)
    except OSError:
        pass  # a kernel before 4.3
    header, data = _Header(VERSION_3, 0), (_Data * 2)()
    try:
        call("capset", ctypes.byref(header), ctypes.byref(data))
    except OSError as error:
        raise SandboxError("capabilities", error.strerror or "refused") from None


def forbid_new_privileges() -> None:
    """No executed file can give privileges (no_new_privs); seccomp and Landlock need this.

    Raises:
        SandboxError: the system refuses.
    """
    try:
        prctl(NO_NEW_PRIVS, 1)
    except OSError as error:
        raise SandboxError("no_new_privs", error.strerror or "refused") from None
