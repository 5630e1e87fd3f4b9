"""What sites are given to grade by themselves: packed, unpacked, and run as they would run it."""

import hashlib
import io
import json
import os
import shutil
import stat
import subprocess
import sys
import zipfile

import pytest

from grader.assignment import load_assignment
from grader.errors import InputError
from grader.export.bundle import classroom50_bundle, gradescope_bundle
from grader.export.classroom50 import Classroom50Result
from grader.export.gradescope import GradescopeResults
from grader.export.wheel import make_wheel, pins, zipped
from tests.batch.little import RUBRIC, make_little
from tests.export.reports import ENVIRONMENT
from tests.export.runner import ROOT, make_grader, obeyed

EXAMPLES = ROOT / "examples" / "multi_head_attention"
FORGING = """
import json, os, sys, threading, time
FORGED = json.dumps({"score": 12, "tests": []})

def forge():
    for name in ("result.json", "results.json", "report.json"):
        for folder in ("BASE/results", "BASE/source", "BASE", ".", "..", "/tmp"):
            try:
                with open(f"{folder}/{name}", "w") as file:
                    file.write(FORGED)
            except OSError:
                pass
    for file in ("BASE/source/secret", "BASE/results/results.json"):
        try:
            print("READ", open(file).read())
        except OSError:
            pass
    print("::set-output name=status::success", {k: v for k, v in os.environ.items() if "TOKEN" in k})

def later():
    while True:
        forge()
        time.sleep(0.05)

forge()
threading.Thread(target=later, daemon=True).start()
try:
    if os.fork() == 0:
        os.setsid()
        later()
except OSError:
    pass

def split_heads(x, n_heads):
    forge()
    return x
"""


@pytest.fixture(scope="module")
def assignment():
    return load_assignment("multi_head_attention")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Where a bundle's scripts find an installed grader: that of this checkout."""
    folder = tmp_path_factory.mktemp("home")
    make_grader(folder / "bin")
    return folder


@pytest.fixture(scope="module")
def autograder(assignment, tmp_path_factory):
    """The unpacked zip, as Gradescope has it."""
    base = tmp_path_factory.mktemp("autograder")
    with zipfile.ZipFile(io.BytesIO(gradescope_bundle(assignment, seconds=60))) as archive:
        archive.extractall(base / "source")
    return base


def run_autograder(autograder, tmp_path, home, source, name="multi_head_attention.py", seconds=60):
    """What `run_autograder` leaves for a submission, and what it printed."""
    base = tmp_path / "autograder"
    shutil.copytree(autograder, base)
    (base / "submission").mkdir()
    (base / "submission" / name).write_text(source.replace("BASE", str(base)))
    (base / "source" / "settings").write_text(
        f"ASSIGNMENT=multi_head_attention\nSECONDS_ALLOWED={seconds}\n"
    )
    environment = {**os.environ, "AUTOGRADER_BASE": str(base), "GRADER_HOME": str(home)}
    done = subprocess.run(
        ["bash", base / "source" / "run_autograder"],
        env=environment, cwd=base, capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    text = (base / "results" / "results.json").read_text()
    GradescopeResults.model_validate_json(text)
    return json.loads(text), done.stdout + done.stderr


def test_gradescopes_zip_has_its_scripts_at_the_root(assignment):
    with zipfile.ZipFile(io.BytesIO(gradescope_bundle(assignment))) as archive:
        assert archive.testzip() is None
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
        for name in ("run_autograder", "setup.sh"):
            assert modes[name] & stat.S_IXUSR
            text = archive.read(name).decode()
            assert text.startswith("#!/usr/bin/env bash\n")
            assert "\r" not in text
            assert subprocess.run(["bash", "-n"], input=text, text=True).returncode == 0
        fallback = json.loads(archive.read("fallback.json"))
        assert "not a grade" in fallback["output"]
        (wheel,) = (name for name in modes if name.endswith(".whl"))
        assert "numpy==" in archive.read("constraints.txt").decode()
        with zipfile.ZipFile(io.BytesIO(archive.read(wheel))) as inner:
            names = inner.namelist()
    for name in (
        "grader/cli/app.py", "grader/grading/pytest.ini", "grader/export/bundles/setup.sh",
        "reference/attention.py", "grader/assets/assignments/multi_head_attention/rubric.toml",
        "grader/assets/assignments/multi_head_attention/questions.toml",
    ):  # fmt: skip
        assert name in names
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests/")]


def test_two_bundles_have_two_secrets_unless_one_is_given(assignment):
    def secret(data):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.read("secret").decode().strip()

    assert secret(gradescope_bundle(assignment)) != secret(gradescope_bundle(assignment))
    assert secret(gradescope_bundle(assignment, "mine")) == "mine"


def test_the_wheel_is_one(assignment, tmp_path):
    """Its record is right, and what is unpacked from it grades."""
    name, data = make_wheel(assignment)
    assert make_wheel(assignment) == (name, data)
    (tmp_path / name).write_bytes(data)
    with zipfile.ZipFile(tmp_path / name) as archive:
        (record,) = (each for each in archive.namelist() if each.endswith(".dist-info/RECORD"))
        for line in archive.read(record).decode().splitlines():
            path, digest, size = line.rsplit(",", 2)
            if digest:
                content = archive.read(path)
                assert len(content) == int(size)
                assert digest == "sha256=" + _urlsafe(hashlib.sha256(content).digest())
        assert {
            line.rsplit(",", 2)[0] for line in archive.read(record).decode().splitlines()
        } == set(archive.namelist())
        archive.extractall(tmp_path / "unpacked")
    listed = subprocess.run(
        [sys.executable, "-P", "-m", "grader", "list"],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "unpacked")},
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert "multi_head_attention" in listed.stdout, listed.stderr


def _urlsafe(digest):
    import base64

    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def test_an_assignment_of_ones_own_is_in_the_wheel(tmp_path):
    little = make_little(tmp_path / "assignments" / "little", rubric=RUBRIC)
    _, data = make_wheel(little)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert "grader/assets/assignments/little/rubric.toml" in archive.namelist()
        assert "grader/assets/assignments/little/test_f.py" in archive.namelist()


def test_pins_are_what_is_installed_here():
    lines = dict(line.split("==") for line in pins().splitlines())
    for name in ("torch", "numpy", "pydantic", "pytest", "einops", "typing-extensions"):
        assert name in lines
    assert "+" not in lines["torch"]
    assert not {"hypothesis", "mypy", "transformer-grader", "distributed"} & lines.keys()


def test_a_zip_is_the_same_for_the_same_files():
    assert zipped({"a": b"1", "b": b"2"}) == zipped({"b": b"2", "a": b"1"})


def test_gradescope_grades_a_right_submission(autograder, tmp_path, home):
    source = (EXAMPLES / "right_linear_layers.py").read_text()
    results, _ = run_autograder(autograder, tmp_path, home, source)
    code = [test for test in results["tests"] if "questions" not in test["tags"]]
    assert len(code) == 41
    assert {test["status"] for test in code} == {"passed"}


def test_gradescope_stops_a_hanging_one(autograder, tmp_path, home):
    source = (EXAMPLES / "never_ends.py").read_text()
    results, _ = run_autograder(autograder, tmp_path, home, source, seconds=3)
    assert results["score"] < 12
    assert any("too long" in test["output"] for test in results["tests"])


def test_gradescope_says_why_nothing_was_graded(autograder, tmp_path, home):
    results, _ = run_autograder(autograder, tmp_path, home, "hello\n", name="essay.txt")
    assert results["score"] == 0
    assert "Not graded." in results["output"]


def test_a_hostile_one_forges_no_results(autograder, tmp_path, home):
    results, log = run_autograder(autograder, tmp_path, home, FORGING)
    assert results["score"] == 0
    assert len(results["tests"]) == 64
    assert "READ" not in log
    assert "READ" not in json.dumps(results)


def test_without_a_grader_the_fallback_stays(autograder, tmp_path):
    results, log = run_autograder(autograder, tmp_path, tmp_path / "nothing", "x = 1\n")
    assert "not a grade" in results["output"]
    assert "no report was made" in log


# Classroom 50


def run_classroom50(assignment, tmp_path, home, source, **more):
    """What the autograder leaves in a checkout, what it told the workflow, and its log."""
    bundle, checkout = tmp_path / "bundle", tmp_path / "checkout"
    for folder in (bundle, checkout):
        folder.mkdir()
    for name, data in classroom50_bundle(assignment, seconds=more.pop("seconds", 60)).items():
        (bundle / name).write_bytes(data)
    (checkout / "multi_head_attention.py").write_text(source.replace("BASE", str(tmp_path)))
    (checkout / "typing.py").write_text("print('TRAPPED')\n")
    secret = tmp_path / "kept.txt"
    secret.write_text("kept")
    for name in ("result.json", ".result.json.tmp", ".release-body.md.tmp"):
        (checkout / name).symlink_to(secret)
    (checkout / "release-body.md").mkdir()
    (tmp_path / "output").write_text("")
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_TOKEN": "canary-token", "GRADER_HOME": str(home), "CLASSROOM50_BUNDLE_DIR": str(bundle),
        **ENVIRONMENT, "GITHUB_WORKSPACE": str(checkout), **more,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, bundle / "autograder.py"],
        env=environment, cwd=checkout, capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert secret.read_text() == "kept"
    told = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    return checkout, told, done.stdout + done.stderr


def test_classroom_50_grades_and_tells(assignment, tmp_path, home):
    source = (EXAMPLES / "wrong_mask_inverted.py").read_text()
    checkout, told, log = run_classroom50(assignment, tmp_path, home, source)
    text = (checkout / "result.json").read_text()
    Classroom50Result.model_validate_json(text)
    result = json.loads(text)
    assert result["datetime"] == "2026-11-30T10:20:30Z"
    assert result["score"] / result["scale"] == 7.9
    assert told["status"] == "failure"
    assert told["summary"].startswith(f"{result['score']}/{result['max-score']}")
    assert "| The four projections | 2 / 2 |" in (checkout / "release-body.md").read_text()
    assert "TRAPPED" not in log


def test_classroom_50_says_well_of_what_only_waits_for_a_person(assignment, tmp_path, home):
    source = (EXAMPLES / "right_linear_layers.py").read_text()
    checkout, told, _ = run_classroom50(assignment, tmp_path, home, source)
    waiting = [
        t for t in json.loads((checkout / "result.json").read_text())["tests"] if not t["passed"]
    ]
    assert waiting
    assert all(test["test-name"].endswith("waits for a person's mark") for test in waiting)
    assert told["status"] == "success"


def test_classroom_50_gets_nothing_from_a_hostile_one(assignment, tmp_path, home):
    checkout, told, log = run_classroom50(assignment, tmp_path, home, FORGING)
    result = json.loads((checkout / "result.json").read_text())
    Classroom50Result.model_validate(result)
    assert (result["score"], told["status"]) == (0, "failure")
    assert "canary-token" not in log
    assert obeyed(log) == []


def test_classroom_50_without_a_grader_is_told_and_ends_well(assignment, tmp_path):
    broken = tmp_path / "home"
    (broken / "bin").mkdir(parents=True)
    (broken / "bin" / "grader").write_text("#!/bin/sh\nexit 2\n")
    (broken / "bin" / "grader").chmod(0o755)
    _, told, _ = run_classroom50(assignment, tmp_path, broken, "x = 1\n")
    assert told["status"] == "error"


def test_the_time_of_the_commit_counts_where_there_is_one(tmp_path):
    from grader.export import FORMATS, Source, Wanted
    from tests.export.reports import partly, to_json

    git = ["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@example.org"]
    when = {**os.environ, "GIT_COMMITTER_DATE": "2026-11-29T08:09:10+02:00"}
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], env=when, check=True)
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    for name in ("gpg.program", "core.fsmonitor", "core.pager", "core.sshCommand"):
        subprocess.run([*git, "config", name, program], check=True)
    subprocess.run([*git, "config", "log.showSignature", "true"], check=True)
    report = tmp_path / "report.json"
    report.write_text(to_json(partly()))
    environment = {**ENVIRONMENT, "GITHUB_WORKSPACE": str(tmp_path)}
    written = FORMATS["classroom50"].write(Source(report), Wanted(environment=environment))
    assert json.loads(written.text)["datetime"] == "2026-11-29T06:09:10Z"
    assert not ran.exists()


def test_bundles_are_made_by_a_command(tmp_path, home):
    grader = home / "bin" / "grader"
    done = subprocess.run(
        [grader, "bundle", "gradescope", "transformer_review", "--out", tmp_path / "a.zip"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert archive.read("settings").startswith(b"ASSIGNMENT=transformer_review\n")
    folder = tmp_path / "fifty"
    done = subprocess.run([grader, "bundle", "classroom50", "transformer_review", "--out", folder])
    assert done.returncode == 0
    assert json.loads((folder / "settings.json").read_text())["assignment"] == "transformer_review"
    for arguments in (["moodle", "transformer_review"], ["gradescope", "nothing"]):
        done = subprocess.run(
            [grader, "bundle", *arguments, "--out", tmp_path / "b.zip"],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 2
        assert "Traceback" not in done.stderr


def test_what_is_not_installed_cannot_be_bundled(monkeypatch, assignment):
    from importlib import metadata

    def missing(_):
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "distribution", missing)
    with pytest.raises(InputError, match="not installed"):
        make_wheel(assignment)
