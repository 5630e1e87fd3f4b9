"""A Python that every user may run, for tests that are another user for a while."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from grader.sandbox.system import IS_LINUX

IS_ROOT = IS_LINUX and os.geteuid() == 0
needs_root = pytest.mark.skipif(not IS_ROOT, reason="only root can be another user")


def python_for_everybody() -> str:
    """A Python of this version that every user may run; skips the test where there is none."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for found in (sys.executable, shutil.which(version, path="/usr/bin:/usr/local/bin")):
        if found and _everybody_may_run(Path(found).resolve()):
            return found
    pytest.skip("no Python of this version that every user may run")


def environment(root: Path) -> dict[str, str]:
    """What it needs to find the project and its packages."""
    packages = str(Path(pytest.__file__).parents[1])
    return {
        "PYTHONPATH": os.pathsep.join([str(root), packages]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": "/tmp",
    }


def _everybody_may_run(python: Path) -> bool:
    return all(part.stat().st_mode & 0o001 for part in (python, *python.parents))
