"""The GitHub action: its steps, run as a runner runs them, and its description."""

import base64
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from grader.export.classroom import ClassroomResult
from grader.report import read_report
from tests.export.runner import EXPRESSION, ROOT, load_action, make_grader, obeyed, run_action

EXAMPLES = ROOT / "examples" / "multi_head_attention"
WORKFLOWS = sorted(ROOT.glob("student_template/*/.github/workflows/classroom.yml"))
FORGED = base64.b64encode(b'{"version":1,"status":"pass","max_score":12,"tests":[]}').decode()
HOSTILE = f"""
import glob, os, sys
import torch.nn as nn

def forge():
    for name in ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STEP_SUMMARY"):
        files = [os.environ.get(name)] + glob.glob("FOLDER/*")
        for file in files:
            try:
                with open(file, "a") as opened:
                    opened.write("result={FORGED}\\nPATH=/forged\\n")
            except (OSError, TypeError):
                pass
    found = {{k: v for k, v in os.environ.items() if "GITHUB" in k or "TOKEN" in k}}
    print("seen", found)
    for stream in (sys.stdout, sys.stderr):
        print("::stop-commands::mine\\n::error::forged\\n::set-output name=result::{FORGED}", file=stream)
        print("\\r::add-mask::a\\n##[error]forged\\n  ::notice title=x::forged", file=stream, flush=True)
    try:
        os.write(1, b"::warning::forged\\n")
        os.write(2, b"::warning::forged\\n")
    except OSError:
        pass

forge()

def split_heads(x, n_heads):
    forge()
    raise ValueError("\\n::error::forged\\n::set-output name=result::{FORGED}\\n</failure>")

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        forge()
        raise ValueError("::warning file=x::forged x##[set-output name=result]forged")
"""
# What Python would take for its own if it looked at the student's folder first.
TRAPS = ("venv", "pip", "ensurepip", "typing", "torch", "typer", "json", "grader", "sitecustomize")


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return make_grader(tmp_path_factory.mktemp("programs") / "bin")


def graded(tmp_path, programs, source, **inputs):
    """What the action comes to with a checkout that holds a module of that source."""
    workspace = tmp_path / "checkout"
    workspace.mkdir()
    (workspace / "multi_head_attention.py").write_text(source)
    inputs = {"assignment": "multi_head_attention", "install": "false", **inputs}
    return run_action(tmp_path / "runner", workspace, programs=[programs], **inputs)


def result_of(ran):
    """The classroom's result, as the reporter reads it."""
    data = base64.b64decode(ran.outputs["result"], validate=True)
    ClassroomResult.model_validate_json(data)
    return json.loads(data)


def test_a_right_submission_passes(tmp_path, programs):
    ran = graded(
        tmp_path, programs, (EXAMPLES / "right_linear_layers.py").read_text(), max_score="120"
    )
    assert set(ran.codes.values()) == {0}
    result = result_of(ran)
    assert (result["status"], result["max_score"]) == ("pass", 120)
    report = read_report(Path(ran.outputs["report"]).read_text())
    assert report.code_is_right
    assert float(ran.outputs["score"]) == pytest.approx(float(report.score) * 10)
    assert sum(test["score"] for test in result["tests"]) == pytest.approx(
        float(ran.outputs["score"])
    )
    assert ran.outputs["status"] == "pass"
    assert ran.commands == []
    assert "| The four projections | 2 / 2 | ✓✓✓✓✓ |" in ran.summary


def test_a_partly_right_one_has_its_points_and_annotations(tmp_path, programs):
    source = (EXAMPLES / "wrong_mask_inverted.py").read_text()
    ran = graded(tmp_path, programs, source, path="multi_head_attention.py", test_name="Attention")
    assert set(ran.codes.values()) == {0}
    result = result_of(ran)
    assert result["status"] == ran.outputs["status"] == "fail"
    assert 0 < float(ran.outputs["score"]) < float(ran.outputs["max-score"]) == 12
    assert all(test["name"].startswith("Attention: ") for test in result["tests"])
    assert 1 <= len(ran.commands) <= 10
    line = source[: source.index("masked_fill")].count("\n") + 1
    places = {properties.split(",title=")[0] for _, properties, _ in ran.commands}
    assert f"file=multi_head_attention.py,line={line}" in places
    assert "mask-inverted" in ran.summary.replace("\\", "")
    assert "True = ignore" in ran.log


def test_a_hanging_one_is_stopped_and_has_a_result(tmp_path, programs):
    begun = time.monotonic()
    source = (EXAMPLES / "never_ends.py").read_text()
    ran = graded(tmp_path, programs, source, timeout="0.05")
    assert time.monotonic() - begun < 60
    assert set(ran.codes.values()) == {0}
    result = result_of(ran)
    assert result["status"] == "fail"
    report = read_report(Path(ran.outputs["report"]).read_text())
    assert "timed_out" in {check.status for check in report.checks()}


def test_a_hostile_one_forges_nothing(tmp_path, programs):
    source = HOSTILE.replace("FOLDER", str(tmp_path / "runner"))
    workspace = tmp_path / "checkout"
    workspace.mkdir()
    for name in TRAPS:
        (workspace / f"{name}.py").write_text("print('TRAPPED')\n")
    (workspace / "multi_head_attention.py").write_text(source)
    ran = run_action(
        tmp_path / "runner", workspace, programs=[programs], assignment="multi_head_attention",
        install="false", max_score="12",
    )  # fmt: skip
    assert set(ran.codes.values()) == {0}
    assert ran.environment == ""
    assert ran.outputs["result"] != FORGED
    assert result_of(ran)["status"] == "fail"
    assert float(ran.outputs["score"]) == 0
    assert all(name == "error" for name, _, _ in ran.commands)
    assert len(ran.commands) <= 10
    assert not any(message == "forged" for _, _, message in ran.commands)
    assert "TRAPPED" not in ran.log
    assert "canary-token" not in ran.log
    assert "canary-token" not in Path(ran.outputs["report"]).read_text()


@pytest.mark.parametrize(
    ("source", "path", "reason"),
    [("def f(:\n", ".", "syntax"), ("", "nothing_here", "no file or folder nothing_here")],
)
def test_what_cannot_be_graded_has_a_result_with_the_reason(
    tmp_path, programs, source, path, reason
):
    ran = graded(tmp_path, programs, source, path=path)
    assert set(ran.codes.values()) == {0}
    result = result_of(ran)
    assert result["status"] == ran.outputs["status"] == "error"
    assert reason in result["message"].lower()
    assert ran.outputs["score"] == "0"
    assert reason in ran.summary.replace("\\", "").lower()


@pytest.mark.parametrize(
    ("inputs", "word"),
    [
        ({"assignment": "no_such"}, "No report was made"),
        ({"timeout": "soon"}, "a number of minutes"),
        ({"path": ""}, "No report was made"),
        ({"isolation": "some"}, "No report was made"),
    ],
)
def test_a_workflow_that_is_wrong_fails_and_has_a_result(tmp_path, programs, inputs, word):
    ran = graded(tmp_path, programs, "x = 1\n", max_score="10", **inputs)
    assert 1 in ran.codes.values()
    result = result_of(ran)
    assert (result["status"], result["max_score"]) == ("error", 10)
    assert ran.outputs["status"] == "error"
    assert any(word in message for _, _, message in ran.commands)


def test_without_a_grader_there_is_still_a_result(tmp_path):
    workspace = tmp_path / "checkout"
    workspace.mkdir()
    ran = run_action(
        tmp_path / "runner", workspace, only={"Make room", "Tell the result"},
        assignment="multi_head_attention", max_score='012"}', test_name='"$(touch forged)"', path="$(touch forged)",
    )  # fmt: skip
    assert ran.codes == {"Make room": 0, "Tell the result": 1}
    assert result_of(ran)["max_score"] == 0
    assert not list(tmp_path.rglob("forged"))


@pytest.mark.parametrize(
    "value", ["$(touch forged)", "`touch forged`", '"; touch forged; "', "--help", "-x", "a b", "\n::error::x"]
)  # fmt: skip
def test_inputs_are_never_a_part_of_a_script(tmp_path, programs, value):
    ran = graded(
        tmp_path, programs, "x = 1\n", assignment=value, path=value, max_score=value,
        test_name=value, timeout=value, isolation=value, secret=value,
    )  # fmt: skip
    assert not list(tmp_path.rglob("forged"))
    assert result_of(ran)["status"] == "error"
    assert all(name == "error" for name, _, _ in ran.commands)


@pytest.mark.parametrize(
    ("packages", "is_allowed"),
    [
        ("", True), ("einops scipy==1.15.0", True), ("--index-url=http://127.0.0.1/", False),
        ("-r x.txt", False), ("a;b", False), ("git+https://127.0.0.1/x", False), ("./x", False),
    ],
)  # fmt: skip
def test_packages_are_names_and_installing_looks_at_nothing_of_the_student(
    tmp_path, packages, is_allowed
):
    """A stand-in for Python notes what it is asked for, since installing takes minutes."""
    workspace = tmp_path / "checkout"
    workspace.mkdir()
    programs = tmp_path / "programs"
    programs.mkdir()
    notes = tmp_path / "notes"
    stand_in = programs / "python"
    stand_in.write_text(
        f'#!/bin/sh\necho "$@" >> {notes}\n'
        '[ "$3" != venv ] || { mkdir -p "$4/bin"; cp "$0" "$4/bin/python"; }\n'
    )
    stand_in.chmod(0o755)
    ran = run_action(
        tmp_path / "runner", workspace, only={"Install the grader"}, programs=[programs],
        assignment="multi_head_attention", packages=packages,
    )  # fmt: skip
    assert (ran.codes["Install the grader"] == 0) == is_allowed
    asked = notes.read_text().splitlines() if notes.exists() else []
    assert len(asked) == (3 if is_allowed else 0)
    for line in asked:
        assert line.startswith("-I -m ")
    if is_allowed:
        assert asked[1].endswith("--index-url https://download.pytorch.org/whl/cpu torch")
        assert asked[2].endswith(f"{ROOT}[student] {packages}".strip())
        for line in asked[1:]:
            assert f"--constraint {ROOT}/constraints.txt" in line


def test_a_second_use_does_not_tell_the_first_ones_result(tmp_path, programs):
    first = graded(tmp_path, programs, "x = 1\n", path="missing.py")
    assert "missing.py" in result_of(first)["message"]
    again = run_action(
        tmp_path / "runner", tmp_path / "checkout", programs=[programs],
        assignment="multi_head_attention", packages="bad;package",
    )  # fmt: skip
    assert "could not run" in result_of(again)["message"]
    assert again.outputs["report"] == ""
    assert Path(first.outputs["report"]).exists()


@pytest.mark.parametrize("path", ["link.py", "folder", "folder/secret.py", "loop.py", "./link.py"])
def test_links_are_not_followed(tmp_path, programs, path):
    workspace, elsewhere = tmp_path / "checkout", tmp_path / "elsewhere"
    for folder in (workspace, elsewhere):
        folder.mkdir()
    (elsewhere / "secret.py").write_text("canary token\n")
    (workspace / "link.py").symlink_to(elsewhere / "secret.py")
    (workspace / "folder").symlink_to(elsewhere)
    (workspace / "loop.py").symlink_to(workspace / "loop.py")
    ran = run_action(
        tmp_path / "runner", workspace, programs=[programs], assignment="multi_head_attention",
        install="false", path=path,
    )  # fmt: skip
    assert "links are not followed" in result_of(ran)["message"]
    assert "canary" not in ran.log + ran.summary + Path(ran.outputs["report"]).read_text()


def test_the_cache_is_named_by_what_is_installed(tmp_path):
    workspace = tmp_path / "checkout"
    workspace.mkdir()
    names = [
        run_action(
            tmp_path / "runner", workspace, only={"Name the cache"},
            assignment="multi_head_attention", packages=packages,
        ).steps["cache"]["key"]
        for packages in ("", "", "scipy")
    ]  # fmt: skip
    assert names[0] == names[1] != names[2]
    steps = {step["name"]: step for step in load_action()["runs"]["steps"]}
    kept = steps["Keep what is installed between runs"]
    assert kept["with"]["path"] == "${{ runner.temp }}/transformer-grader/venv"
    assert kept["with"]["key"] == "${{ steps.cache.outputs.key }}"
    assert f"steps.{kept['id']}.outputs.cache-hit != 'true'" in steps["Install the grader"]["if"]
    assert names[0].startswith("transformer-grader-Linux-X64-")


def test_no_script_holds_an_expression_and_every_step_is_bash():
    steps = load_action()["runs"]["steps"]
    scripts = [step for step in steps if "run" in step]
    assert len(scripts) == 5
    for step in scripts:
        assert step["shell"] == "bash"
        assert not EXPRESSION.search(step["run"])
        assert subprocess.run(["bash", "-n", "-c", step["run"]]).returncode == 0


def test_every_input_is_used():
    text = (ROOT / "action.yml").read_text()
    for name in load_action()["inputs"]:
        assert f"inputs.{name}" in text


@pytest.mark.parametrize(
    ("name", "path"),
    [("github-actions", ROOT / "action.yml"), *(("github-workflows", path) for path in WORKFLOWS)],
    ids=lambda value: str(value.relative_to(ROOT)) if isinstance(value, Path) else value,
)
def test_the_published_schemas_hold(name, path):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{name}"]
    done = subprocess.run([*command, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.parents[2].name)
def test_the_workflow_has_the_names_that_classrooms_look_for(path):
    workflow = yaml.load(path.read_text(), Loader=yaml.BaseLoader)
    assert workflow["name"] == "Autograding Tests"
    assert workflow["permissions"] == {"contents": "read"}
    (name,) = workflow["jobs"]
    assert name == "run-autograding-tests"
    job = workflow["jobs"][name]
    checkout, grade, reporter = job["steps"]
    assert checkout["with"]["persist-credentials"] == "false"
    assert grade["with"]["assignment"] == path.parents[2].name
    assert set(grade["with"]) <= load_action()["inputs"].keys()
    assert reporter["uses"].startswith("classroom-resources/autograding-grading-reporter@")
    assert reporter["with"]["runners"] == grade["id"]
    value = f"${{{{ steps.{grade['id']}.outputs.result }}}}"
    assert reporter["env"] == {f"{grade['id'].upper()}_RESULTS": value}
    assert "result" in load_action()["outputs"]


def test_every_assignment_has_a_workflow():
    assignments = {path.parent.name for path in ROOT.glob("assignments/*/rubric.toml")}
    assert {path.parents[2].name for path in WORKFLOWS} == assignments


def test_start_writes_where_the_action_is(tmp_path):
    grader = [make_grader(tmp_path / "bin") / "grader", "start", "multi_head_attention"]
    uses = "school/transformer-grader@v9"
    done = subprocess.run([*grader, tmp_path / "mine", "--uses", uses], capture_output=True)
    assert done.returncode == 0
    text = (tmp_path / "mine" / ".github" / "workflows" / "classroom.yml").read_text()
    assert f"uses: {uses}" in text
    assert "YOUR_ORGANISATION" not in text
    done = subprocess.run([*grader, tmp_path / "other", "--uses", "x\ny"], capture_output=True)
    assert done.returncode == 2


def test_the_runner_here_stops_commands_as_github_does():
    assert obeyed("x##[error]y") == [("error", "", "y")]
    log = "::error::a\n::stop-commands::t\n::error::b\n::x::\n::t::\n ::notice title=c::d"
    assert obeyed(log) == [("error", "", "a"), ("notice", "title=c", "d")]
