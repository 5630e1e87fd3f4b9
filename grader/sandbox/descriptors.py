"""Descriptors: a worker has its socket and three standard streams, and nothing else."""

import os

SOCKET = 3
STATUS = 4  # where entering is told; closed before any student code runs
HIGHEST = 1_000_000


def keep_only(sock: int, output: int, status: int, close: bool = True) -> None:
    """Move the descriptors that are kept to the numbers above, and close all others.

    Standard input is empty, standard output and standard error are `output`. Without `close` the
    others stay open.
    """
    import fcntl  # Windows has none, and no worker that comes here

    sock, output, status = (
        fcntl.fcntl(given, fcntl.F_DUPFD, 10) for given in (sock, output, status)
    )
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(sock, SOCKET)
    os.dup2(status, STATUS)
    if close:
        os.closerange(STATUS + 1, min(HIGHEST, max(65_536, os.sysconf("SC_OPEN_MAX"))))
