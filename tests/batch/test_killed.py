"""A batch that is killed loses no report that it has finished."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.batch import class_secret, write_atomically
from grader.errors import InputError
from grader.report import read_report

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "multi_head_attention" / "right_linear_layers.py"


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_a_killed_batch_keeps_whole_reports_and_can_be_run_again(tmp_path):
    finished = 2
    folder, out = tmp_path / "class", tmp_path / "out"
    folder.mkdir()
    for number in range(8):
        (folder / f"s{number:02}.py").write_bytes(EXAMPLE.read_bytes())
    command = [
        sys.executable, "-m", "grader", "grade", str(folder), "-a", "multi_head_attention",
        "-o", str(out), "-j", "1",
    ]  # fmt: skip
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as batch:
        for _ in range(finished):
            assert batch.stderr.readline().startswith("[")
        batch.send_signal(signal.SIGKILL)
    reports = sorted((out / "reports").glob("*.json"))
    assert finished <= len(reports) < 8
    for report in reports:
        assert read_report(report.read_text()).code_is_right
    before = {report.name: report.read_text() for report in reports}
    secret = class_secret(out)
    assert subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0
    assert class_secret(out) == secret
    for name, text in before.items():  # the same inputs, so the same reports, times aside
        again = read_report((out / "reports" / name).read_text())
        assert again == read_report(text).model_copy(update={"seconds": again.seconds})
    deadline = time.monotonic() + 10
    while list(out.rglob("*.tmp")) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert list(out.rglob("*.tmp")) == []


def test_a_file_is_there_whole_or_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, "before")

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError, match="No space left"):
        write_atomically(path, "after")
    assert path.read_text() == "before"


def test_the_secret_of_a_class_is_made_once_and_is_its_owners(tmp_path):
    made = class_secret(tmp_path)
    assert class_secret(tmp_path) == made
    assert len(made) == 32
    assert (tmp_path / ".secret").stat().st_mode & 0o777 == 0o600
    other = tmp_path / "other"
    other.mkdir()
    assert class_secret(other) != made
