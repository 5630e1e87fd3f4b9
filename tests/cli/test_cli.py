"""The command line as a person uses it: exit codes, sentences, files."""

import json
import os
import subprocess
import sys
import zipfile

import nbformat
import pytest
from typer.testing import CliRunner

from grader.errors import InputError
from grader.report import read_report
from tests.conftest import ROOT

EXAMPLES = ROOT / "examples" / "multi_head_attention"
TEMPLATE = ROOT / "student_template" / "multi_head_attention"


def run(*arguments, cwd=None, **environment):
    return subprocess.run(
        [sys.executable, "-m", "grader", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd or ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        timeout=300,
        check=False,
    )


def test_check_of_a_right_submission_is_0():
    result = run("check", EXAMPLES / "right_linear_layers.py")
    assert result.returncode == 0, result.stderr
    assert "all of the code is right" in result.stdout
    assert "\x1b" not in result.stdout


def test_check_of_a_wrong_submission_is_1_and_names_the_misconception():
    result = run("check", EXAMPLES / "wrong_mask_inverted.py", "-a", "multi_head_attention")
    assert result.returncode == 1
    assert "mask-inverted" in result.stdout
    assert "Your mask means True = ignore" in result.stdout


def test_check_writes_json_to_the_output_or_a_file(tmp_path):
    result = run("check", EXAMPLES / "right_einsum_notebook.ipynb", "--json", "-")
    assert result.returncode == 0
    report = read_report(result.stdout)
    assert report.code_is_right
    target = tmp_path / "report.json"
    result = run("check", EXAMPLES / "right_linear_layers.py", "--json", target)
    assert read_report(target.read_text()).code_is_right
    assert "all of the code is right" in result.stdout


def test_check_of_one_milestone_counts_only_that():
    wrong = EXAMPLES / "wrong_mask_inverted.py"
    assert run("check", wrong, "--milestone", "heads").returncode == 0
    result = run("check", wrong, "--milestone", "attention")
    assert result.returncode == 1
    assert "of 3 points" in result.stdout


def test_check_without_a_path_takes_this_folder(tmp_path):
    (tmp_path / "mine.py").write_text((EXAMPLES / "right_linear_layers.py").read_text())
    assert run("check", cwd=tmp_path).returncode == 0


BAD = {
    "no such path": (None, "There is no file or folder"),
    "empty folder": ({}, "holds no .py file"),
    "not Python": ({"a.txt": "x"}, "is not Python"),
    "syntax error": ({"a.py": "x = 1\ndef f(:\n"}, "a.py, line 2 is not valid Python"),
    "binary": ({"a.py": b"\x00\xff\x00"}, "a.py"),
    "notebook that is no JSON": ({"a.ipynb": "<<<<<<< HEAD"}, "merge conflict"),
    "nothing known in it": ({"a.py": "x = 1\n"}, "split_heads, merge_heads"),
}


@pytest.mark.parametrize(("files", "sentence"), BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence_and_2(tmp_path, files, sentence):
    for name, content in (files or {}).items():
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(data)
    target = tmp_path / "missing" if files is None else tmp_path
    if files and len(files) == 1:
        target = tmp_path / next(iter(files))
    result = run("check", target)
    assert result.returncode == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", EXAMPLES / "right_linear_layers.py", "--assignment", "nonsense"),
        ("check", EXAMPLES / "right_linear_layers.py", "--milestone", "nonsense"),
        ("show", "nonsense"),
        ("lint", "nonsense"),
        ("start", "nonsense"),
        ("nonsense",),
    ],
)
def test_bad_usage_is_2_and_no_traceback(arguments, tmp_path):
    result = run(*arguments, cwd=tmp_path, PYTHONPATH=str(ROOT))
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert result.stderr
    assert list(tmp_path.iterdir()) == []


def test_grade_writes_reports_and_gradebook_and_is_0(tmp_path):
    out = tmp_path / "out"
    wrong = EXAMPLES / "wrong_scale_missing.py"
    result = run("grade", EXAMPLES / "right_linear_layers.py", wrong, "--out", out)
    assert result.returncode == 0, result.stderr
    assert sorted(p.name for p in out.rglob("*") if p.is_file()) == [
        ".lock",
        ".secret",
        "gradebook.csv",
        "gradebook.sqlite",
        "right_linear_layers.py.json",
        "wrong_scale_missing.py.json",
    ]
    assert "scale-missing" in result.stdout
    assert "What to explain again" in result.stdout
    assert "2 graded in" in result.stdout
    assert "[2/2]" in result.stderr
    again = run("grade", EXAMPLES / "right_linear_layers.py", wrong, "--out", out)
    assert again.returncode == 0
    assert "2 unchanged and kept, 0 graded" in again.stdout
    assert again.stderr == ""
    shown = run("stats", out, "--json", tmp_path / "stats.json")
    assert "scale-missing  1 (50%)" in shown.stdout
    assert json.loads((tmp_path / "stats.json").read_text())["graded"] == 2
    assert run("stats", out, "--json", "-").stdout == (tmp_path / "stats.json").read_text()
    same = run("diff", out, out)
    assert (same.returncode, same.stdout) == (0, "0 of 2 grades changed.\n")
    other = tmp_path / "other"
    wrong = EXAMPLES / "wrong_mask_inverted.py"
    (tmp_path / "wrong_scale_missing.py").write_text(wrong.read_text())
    assert run("grade", tmp_path / "wrong_scale_missing.py", "-o", other).returncode == 0
    changed = run("diff", out, other)
    assert changed.returncode == 1
    assert "other code was handed in" in changed.stdout
    assert "2 of 2 grades changed." in changed.stdout


def test_a_folder_that_holds_no_class_is_told_by_stats_and_diff(tmp_path):
    for command in (("stats", tmp_path), ("diff", tmp_path, tmp_path)):
        result = run(*command)
        assert result.returncode == 2
        assert "name the --out of a class" in result.stderr
    result = run("stats", tmp_path, "--json", tmp_path / "missing" / "x.json")
    assert "cannot be written" in result.stderr


def test_a_cluster_that_is_not_there_is_told(tmp_path, monkeypatch):
    from grader.cli.app import app

    pytest.importorskip("distributed")
    monkeypatch.setattr("grader.batch.cluster.CONNECT_SECONDS", 0.5)
    command = ["grade", EXAMPLES / "right_linear_layers.py", "-o", tmp_path / "out"]
    command += ["-a", "multi_head_attention", "--cluster", "tcp://127.0.0.1:9"]
    result = CliRunner().invoke(app, list(map(str, command)))
    assert isinstance(result.exception, InputError)
    assert "tcp://127.0.0.1:9 cannot be reached" in str(result.exception)


def test_grade_of_a_missing_path_reports_it_and_grades_the_others(tmp_path):
    out = tmp_path / "out"
    right = EXAMPLES / "right_linear_layers.py"
    result = run("grade", tmp_path / "missing.py", right, "-o", out, "-j", "1")
    assert result.returncode == 0
    assert "There is no file or folder" in result.stderr
    refused = read_report((out / "reports" / "missing.py.json").read_text())
    assert refused.status == "refused"
    assert "no file or folder" in refused.findings[0].message
    assert read_report((out / "reports" / "right_linear_layers.py.json").read_text()).code_is_right
    assert run("grade", tmp_path / "missing.py", "-o", out).returncode == 2


def test_one_submission_that_cannot_be_read_ends_no_batch(tmp_path):
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / "deep.py").write_text("if x: pass\n" + "elif x: pass\n" * 3000)
    (folder / "chain.py").write_text("split_heads = x" + ".y" * 3000 + "\n")
    (folder / "right.py").write_text((EXAMPLES / "right_linear_layers.py").read_text())
    result = run("grade", folder, "--out", tmp_path / "out", "--jobs", "1")
    assert result.returncode == 0, result.stderr
    reports = {p.name: read_report(p.read_text()) for p in (tmp_path / "out/reports").iterdir()}
    assert set(reports) == {"deep.py.json", "chain.py.json", "right.py.json"}
    assert reports["right.py.json"].code_is_right


def test_a_json_file_that_cannot_be_written_is_told_before_any_work(tmp_path):
    target = tmp_path / "missing" / "report.json"
    result = run("check", EXAMPLES / "right_linear_layers.py", "--json", target)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1


def test_out_that_is_a_file_is_told(tmp_path):
    (tmp_path / "out").write_text("")
    result = run("grade", EXAMPLES / "right_linear_layers.py", "--out", tmp_path / "out")
    assert result.returncode == 2
    assert "Traceback" not in result.stderr


def test_list_show_and_lint():
    assert "multi_head_attention" in run("list").stdout
    shown = run("show", "multi_head_attention").stdout
    assert "True = may attend" in shown
    assert "layer_known_weights" in shown
    assert run("lint", "multi_head_attention").returncode == 0


def test_start_copies_the_template_and_never_over_work(tmp_path):
    assert run("start", "multi_head_attention", "mine", cwd=tmp_path).returncode == 0
    names = sorted(p.name for p in (tmp_path / "mine").iterdir())
    assert names == [
        ".github", "README.md", "multi_head_attention.ipynb", "multi_head_attention.py",
    ]  # fmt: skip
    again = run("start", "multi_head_attention", "mine", cwd=tmp_path)
    assert again.returncode == 2
    assert "exists already" in again.stderr


@pytest.mark.parametrize("name", ["", "multi_head_attention.py", "multi_head_attention.ipynb"])
def test_the_template_as_it_is_gets_0_points_and_help(name):
    result = run("check", TEMPLATE / name, "--json", "-")
    assert result.returncode == 1
    report = read_report(result.stdout)
    assert report.score == 0
    first = report.checks()[0]
    assert first.misconception == "not-implemented"
    assert first.hint


def test_module_and_notebook_of_the_template_define_the_same():
    notebook = nbformat.read(TEMPLATE / "multi_head_attention.ipynb", as_version=4)
    nbformat.validate(notebook)
    code = "\n".join(c.source for c in notebook.cells if c.cell_type == "code")
    module = (TEMPLATE / "multi_head_attention.py").read_text()
    for text in (code, module):
        assert text.count("raise NotImplementedError") >= 4
    for line in module.splitlines():
        if line.startswith(("def ", "class ", "    def ")):
            assert line in code


def test_the_secret_comes_from_the_environment_or_a_file(tmp_path):
    (tmp_path / "secret").write_text("s")
    wrong = EXAMPLES / "wrong_scale_missing.py"

    def got(**environment):
        data = json.loads(run("check", wrong, "--json", "-", **environment).stdout)
        return [c["got"] for m in data["milestones"] for c in m["checks"]]

    assert got() != got(GRADER_SECRET="s") == got(GRADER_SECRET=f"file:{tmp_path / 'secret'}")
    (tmp_path / "empty").write_text("\n")
    for name in ("missing", "empty"):
        result = run("check", wrong, GRADER_SECRET=f"file:{tmp_path / name}")
        assert result.returncode == 2
        assert name in result.stderr


RIGHT = EXAMPLES / "right_linear_layers.py"
WHOLE = """
import torch
def split_heads(x, n): return x
def merge_heads(x): return x
def scaled_dot_product_attention(q, k, v, mask=None): return q
class MultiHeadAttention: n = 3
"""


def test_a_folder_with_several_modules_is_asked_about(tmp_path):
    for name in ("first try.py", "second.py"):
        (tmp_path / name).write_text(WHOLE)
    result = run("check", tmp_path, "--assignment", "multi_head_attention")
    assert result.returncode == 2
    assert "first try.py, second.py" in result.stderr
    assert f"grader check '{tmp_path}/first try.py'" in result.stderr


def test_a_module_is_checked_with_what_it_imports_from_its_folder(tmp_path):
    text = RIGHT.read_text(encoding="utf-8")
    head, _, tail = text.partition("class MultiHeadAttention")
    (tmp_path / "functions.py").write_text(head, encoding="utf-8")
    imports = "import torch\nfrom torch import nn\nfrom functions import *\n"
    main = tmp_path / "layer.py"
    main.write_text(imports + "class MultiHeadAttention" + tail, encoding="utf-8")
    result = run("check", main, "--milestone", "heads")
    assert result.returncode == 0, result.stdout + result.stderr


def test_an_archive_is_checked_like_what_it_holds(tmp_path):
    with zipfile.ZipFile(tmp_path / "work.zip", "w") as archive:
        archive.write(RIGHT, "my work/attention.py")
    assert run("check", tmp_path / "work.zip", "--milestone", "heads").returncode == 0


def test_a_download_and_a_roster_are_joined_and_nobody_is_lost_silently(tmp_path):
    folder = tmp_path / "Student One_1001_assignsubmission_file"
    folder.mkdir(parents=True)
    (folder / "a.py").write_text("def f(:\n")
    (tmp_path / "Student Two_1002_assignsubmission_file").mkdir()
    (tmp_path / "Student Two_1002_assignsubmission_file" / "b.py").write_text("def f(:\n")
    roster = tmp_path.parent / f"{tmp_path.name}.csv"
    roster.write_text("Identifier,ID number\nParticipant 1001,s1\nParticipant 1003,s3\n")
    out = tmp_path.parent / f"{tmp_path.name}-out"
    result = run("grade", tmp_path, "-a", "multi_head_attention", "--out", out, "--roster", roster)
    assert result.returncode == 0
    assert "A download of moodle" in result.stderr
    assert "In the class list without a submission: s3" in result.stderr
    assert "Submissions of nobody in the class list: 1002" in result.stderr
    assert "Student" not in result.stdout + result.stderr
    empty = run("grade", tmp_path, "--out", out, "--roster", tmp_path / "none.csv")
    assert empty.returncode == 2
    assert "cannot be read" in empty.stderr


def test_doctor_says_what_holds_and_is_1_where_nothing_does():
    result = run("doctor")
    assert "Isolation:" in result.stdout, result.stderr
    assert "Read a file of the machine" in result.stdout
    level = result.stdout.split("Isolation: ")[1].split()[0]
    assert result.returncode == (1 if level == "none" else 0)
    result = run("doctor", "--isolation", "none")
    assert result.returncode == 1
    assert "`grader grade` refuses to run here without `--isolation none`" in result.stdout


def test_a_report_says_how_its_code_was_shut_in(tmp_path):
    path = EXAMPLES / "right_linear_layers.py"
    for level in ("limits", "none"):
        result = run("check", path, "--isolation", level, "--json", tmp_path / "r.json")
        assert result.returncode == 0, result.stderr
        report = read_report((tmp_path / "r.json").read_text())
        assert report.environment.isolation == level
        said = "Run without a sandbox" if level == "none" else "Run in a sandbox (limits"
        assert said in result.stdout


def test_an_isolation_that_there_is_not_is_told():
    result = run("check", EXAMPLES / "right_linear_layers.py", "--isolation", "walls")
    assert result.returncode == 2
    assert "choose one of namespaces, limits, none" in result.stderr


def test_a_folder_with_modules_named_like_packages_changes_nothing_of_the_graders(tmp_path):
    shadow = "raise SystemExit('the grader imported this')\n"
    for name in ("torch", "pytest", "typer", "conftest", "sitecustomize", "json", "numpy"):
        (tmp_path / f"{name}.py").write_text(shadow)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --nothing-of-the-kind\n")
    (tmp_path / "grader").mkdir()
    (tmp_path / "grader" / "helper.py").write_text("X = 1\n")
    text = (EXAMPLES / "right_linear_layers.py").read_text()
    (tmp_path / "multi_head_attention.py").write_text(text)
    result = run("check", "multi_head_attention.py", cwd=tmp_path, PYTHONPATH="")
    if "No module named grader" in result.stderr:  # it is not installed here
        start = (
            f"import sys; sys.path[:] = [{str(ROOT)!r}, *sys.path[1:]]; sys.argv[0] = 'grader'; "
        )
        code = start + "from grader.cli import main; main()"
        result = subprocess.run(
            [sys.executable, "-c", code, "check", "multi_head_attention.py"],
            capture_output=True, text=True, cwd=tmp_path, check=False,
        )  # fmt: skip
    assert result.returncode == 0, result.stderr


def test_grade_needs_a_sandbox_or_the_word_that_it_may_do_without(monkeypatch):
    from grader.errors import IsolationUnavailable
    from grader.worker.client import ForkLauncher

    with ForkLauncher("none") as launcher, pytest.raises(IsolationUnavailable) as told:
        launcher.require_sandbox()
    assert "others' code is not run without one" in str(told.value)
    assert "--isolation none" in str(told.value)
