"""Classroom 50 runs this in the student's checkout: grades it, and leaves result.json behind.

It lies in `CLASSROOM/autograders/ASSIGNMENT/` together with the grader's wheel, and needs nothing
but Python. Whatever happens it ends with exit code 0; where there is no grade it says so in
`status`, and the runner makes a result of it.
"""

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(os.environ.get("CLASSROOM50_BUNDLE_DIR") or Path(__file__).resolve().parent)
SETTINGS = json.loads((HERE / "settings.json").read_text(encoding="utf-8"))
PASSED_ON = ("PATH", "HOME", "TMPDIR", "LANG", "SYSTEMROOT")
WAITS = "waits for a person's mark"  # an open question, which has no points yet
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"


def main() -> None:
    """Install, grade, export."""
    with tempfile.TemporaryDirectory(prefix="transformer-grader-") as folder:
        work = Path(folder)
        report = work / "report.json"
        try:
            grader = installed()
            grade(grader, report)
            export(grader, report)
        except (OSError, subprocess.SubprocessError) as error:
            tell("error", f"The grader could not run: {error}")


def installed() -> str:
    """The grader's command, installed if it is not there yet."""
    root = os.environ.get("RUNNER_TEMP") or tempfile.gettempdir()
    home = Path(os.environ.get("GRADER_HOME") or Path(root) / "transformer-grader-venv")
    command = home / "bin" / "grader"
    if not command.exists():
        subprocess.run([sys.executable, "-I", "-m", "venv", str(home)], check=True)
        (wheel,) = HERE.glob("transformer_grader-*.whl")
        pip = [str(home / "bin" / "python"), "-I", "-m", "pip", "install", "--quiet"]
        pip += ["--disable-pip-version-check", "--retries", "2"]
        pip += ["--constraint", str(HERE / "constraints.txt")]
        # The build for processors is a tenth of the usual one; without it, that will do as well.
        subprocess.run([*pip, "--index-url", CPU_BUILDS, "torch"], check=False)
        subprocess.run([*pip, f"{wheel}[student]"], check=True)
    return str(command)


def grade(grader: str, report: Path) -> None:
    """Write the report; what is printed meanwhile is no command of the workflow."""
    seconds = SETTINGS["seconds"]
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    kept["GRADER_SECRET"] = f"file:{HERE / 'secret'}"
    command = [grader, "check", "--unattended", f"--assignment={SETTINGS['assignment']}"]
    command += [f"--timeout={seconds}", f"--json={report}", "--", "."]
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)
    try:
        subprocess.run(command, env=kept, timeout=seconds + 120, check=False)
    finally:
        print(f"\n::{token}::", flush=True)


def export(grader: str, report: Path) -> None:
    """Write what the runner reads, and tell it how it went."""
    if not report.exists():
        tell("error", "The grader made no report: see the log.")
        return
    for form, name in (("classroom50", "result.json"), ("markdown", "release-body.md")):
        made = report.with_name(name)
        subprocess.run([grader, "export", form, str(report), f"--out={made}"], check=True)
        target = Path(name)  # where a student could have put a link or a folder
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)
        with open(target, "xb") as file:
            file.write(made.read_bytes())
    result = json.loads(report.with_name("result.json").read_text(encoding="utf-8"))
    score = f"{result['score']}/{result['max-score']}"
    if not result["tests"]:
        tell("error", result.get("message") or "There is no grade.")
    elif all(t["passed"] or t["test-name"].endswith(WAITS) for t in result["tests"]):
        tell("success", f"{score}: nothing is wrong")
    else:
        passed = sum(test["passed"] for test in result["tests"])
        tell("failure", f"{score}: {passed} of {len(result['tests'])} checks passed")


def tell(status: str, summary: str) -> None:
    """Say how it went, for the commit's status."""
    line = " ".join(summary.split())[:300]
    print(f"{status}: {line}".replace("::", ": :"))
    target = os.environ.get("GITHUB_OUTPUT")
    if target:
        with open(target, "a", encoding="utf-8") as file:
            file.write(f"status={status}\nsummary={line}\n")


if __name__ == "__main__":
    main()
