"""What holds of a sandbox, as `grader doctor` prints it."""

import platform
import sys
from importlib import metadata
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from grader.worker.doctor import Examination

MEANING = {
    "namespaces": "a machine of its own: its files, processes and network are not this one's",
    "limits": "Landlock, seccomp and resource limits; it knows that other processes are there",
    "none": "a process of its own with resource limits, and no sandbox",
}


def print_examination(found: "Examination", console: Console) -> None:
    """Print how workers are shut in, mechanism by mechanism, and what one of them could do.

    Args:
        found: what a worker was seen to be able to do.
        console: where to.
    """
    versions = f"Python {platform.python_version()}, torch {metadata.version('torch')}"
    console.print(f"{platform.platform()}, {versions}", markup=False)
    console.print(
        Text.assemble("Isolation: ", (found.isolation, "bold"), f" ({MEANING[found.isolation]})")
    )
    for reason in found.reasons:
        console.print(Text(f"  {reason}", style="yellow"))
    console.print(f"A worker starts and ends in {found.start_seconds * 1000:.0f} ms.")
    console.print()
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for name, remark in found.mechanisms.items():
        table.add_row(Text("✓", style="green"), name, Text(remark))
    for name, reason in found.missing.items():
        table.add_row(Text("–", style="yellow"), name, Text(reason))
    console.print(table)
    console.print()
    console.print("What student code could do:")
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for attempt in found.attempts:
        mark = Text("yes", style="red") if attempt.is_possible else Text("no", style="green")
        table.add_row(mark, attempt.what, Text(attempt.evidence, style="dim"))
    console.print(table)
    if found.isolation == "none":
        console.print()
        more = "" if sys.platform.startswith("linux") else " There is one on Linux only."
        console.print(f"`grader grade` refuses to run here without `--isolation none`.{more}")
