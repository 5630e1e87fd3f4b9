"""Fuzzes with atheris: `python tests/fuzz/explore.py frames|answers|writers [libFuzzer's options]`."""

import json
import sys
from pathlib import Path
from typing import Any

import atheris
import pytest  # noqa: F401  what is loaded before is not followed
import rich.console  # noqa: F401
import torch  # noqa: F401

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
with atheris.instrument_imports(include=["grader"]):
    from tests.fuzz.harness import feed_answer, feed_frames, feed_writers


def node(given: atheris.FuzzedDataProvider, depth: int) -> Any:
    """A value as a header may hold it, right or wrong."""
    which = given.ConsumeIntInRange(0, 5 if depth else 3)
    if which == 0:
        return given.ConsumeInt(8)
    if which == 1:
        return given.ConsumeUnicodeNoSurrogates(20)
    if which == 2:
        return given.ConsumeBool()
    if which == 3:
        return given.ConsumeFloat()
    items = [node(given, depth - 1) for _ in range(given.ConsumeIntInRange(0, 3))]
    if which == 4:
        return items
    made: dict[str, Any] = {"k": given.PickValueInList(KINDS), "v": items}
    for key in ("i", "grad", "n", "type", "text", "names", "unpacks", "message", "frames", "name"):
        if given.ConsumeBool():
            made[key] = node(given, depth - 1)
    return made


def feed(data: bytes) -> None:
    """Feed what atheris made up."""
    if WHICH == "frames":
        feed_frames(data)
        return
    given = atheris.FuzzedDataProvider(data)
    if WHICH == "answers":
        keys = ("id", "value", "fault", "devices", "uses")
        header = {key: node(given, 3) for key in keys if given.ConsumeBool()}
        feed_answer(json.dumps(header).encode(), given.ConsumeBytes(200))
    else:
        count = given.ConsumeIntInRange(1, 8)
        feed_writers([given.ConsumeUnicodeNoSurrogates(40) for _ in range(count)])


KINDS = ["tensor", "float", "tuple", "list", "dict", "fields", "object", "ref", "other"]
WHICH = sys.argv.pop(1)
atheris.Setup(sys.argv, feed)
atheris.Fuzz()
