"""Identity: under root, each worker has a user id of its own.

Root's files are then not the worker's, and RLIMIT_NPROC, which does not bind uid 0, counts its
threads alone.
"""

import os

from grader.sandbox.system import SandboxError, call

FIRST_ID = 1_900_000_000  # far from what systems give to users, services or containers
FIRST_SHORT_ID, SHORT_IDS = 61_184, 4_336  # where only 65,536 ids are mapped


def candidates(process: int) -> list[int]:
    """Ids for the worker that runs in that process; no two workers at a time have the same."""
    return [FIRST_ID + process, FIRST_SHORT_ID + process % SHORT_IDS]


def take_own_id(ids: list[int], folder: str | None) -> None:
    """Become a user, in a group, with one of the ids, and no other group.

    Args:
        ids: which ids to try.
        folder: given to that user; None for none.

    Raises:
        SandboxError: none of them can be had.
    """
    reason = "no id is mapped"
    for number in ids:
        try:
            if folder is not None:
                os.chown(folder, number, number)
            os.setgroups([])
            call("setresgid", number, number, number)
            call("setresuid", number, number, number)
        except OSError as error:
            reason = error.strerror or reason
        else:
            return
    raise SandboxError("identity", reason)


def readable_by_others(paths: list[str], reachable: bool) -> bool:
    """Whether any user may read these folders.

    Args:
        paths: the folders.
        reachable: whether any user has to come to them, too, through those above.
    """
    return all(
        _mode(path) & 0o005 == 0o005
        and not (reachable and any(not _mode(above) & 0o001 for above in _above(path)))
        for path in paths
    )


def _mode(path: str) -> int:
    """The mode of a folder, and of what lies in it as far as one entry shows."""
    mode = os.stat(path).st_mode
    for name in os.listdir(path)[:1]:
        if not os.path.islink(f"{path}/{name}"):
            mode &= os.stat(f"{path}/{name}").st_mode | 0o001
    return mode


def _above(path: str) -> list[str]:
    found = []
    while (parent := os.path.dirname(path)) != path:
        found.append(parent)
        path = parent
    return found
