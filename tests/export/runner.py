"""Runs the shell steps of a composite action as GitHub's runner would, with its files and variables.

Steps that use other actions are left out; what they do is written in the tests.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import yaml

EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Ran:
    """What a run of the action came to.

    Attributes:
        outputs: of the action.
        steps: the outputs of each step that has an id.
        codes: the exit code of each step that ran, by its name.
        commands: what the log obeyed: name, properties and message of each command.
        log: all that was printed.
        summary: of all steps.
        environment: what steps wrote to the files that change later steps.
    """

    outputs: dict[str, str] = field(default_factory=dict)
    steps: dict[str, dict[str, str]] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)
    commands: list[tuple[str, str, str]] = field(default_factory=list)
    log: str = ""
    summary: str = ""
    environment: str = ""


def load_action():
    """The action's description."""
    return yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def run_action(folder, workspace, only=None, programs=(), **inputs):
    """Run the action's shell steps.

    Args:
        folder: for the runner's own files.
        workspace: the student's checkout, in which steps run.
        only: names of the steps that run; all when None.
        programs: folders of programs, before those of the machine.
        inputs: the action's, with `_` for `-`.
    """
    action = load_action()
    given = {name: str(about.get("default", "")) for name, about in action["inputs"].items()}
    given |= {name.replace("_", "-"): value for name, value in inputs.items()}
    assert given.keys() == action["inputs"].keys()
    temp = folder / "temp"
    temp.mkdir(parents=True, exist_ok=True)
    context = {
        **{f"inputs.{name}": value for name, value in given.items()},
        "github.action_path": str(ROOT),
        "runner.temp": str(temp),
    }
    ran = Ran()
    failed = False
    for number, step in enumerate(action["runs"]["steps"]):
        if "uses" in step or (only is not None and step["name"] not in only):
            continue
        condition = step.get("if", "success()")
        if condition != "always()" and (failed or not _holds(condition, context)):
            continue
        failed |= _step(step, number, context, folder, workspace, programs, ran) != 0
    ran.outputs = {
        name: _filled(about["value"], context) for name, about in action["outputs"].items()
    }
    return ran


def _step(step, number, context, folder, workspace, programs, ran):
    assert step["shell"] == "bash"
    files = {}
    for name in (
        "GITHUB_OUTPUT",
        "GITHUB_ENV",
        "GITHUB_PATH",
        "GITHUB_STATE",
        "GITHUB_STEP_SUMMARY",
    ):
        files[name] = folder / f"{name.lower()}_{number}"
        files[name].write_text("")
    script = folder / f"step_{number}.sh"
    script.write_text(step["run"])
    environment = {
        "PATH": os.pathsep.join([*map(str, programs), os.environ["PATH"]]),
        "HOME": str(folder), "RUNNER_OS": "Linux", "RUNNER_ARCH": "X64",
        "RUNNER_TEMP": context["runner.temp"], "GITHUB_SHA": "0123abc" * 5,
        "GITHUB_WORKSPACE": str(workspace), "GITHUB_TOKEN": "canary-token",
        "ACTIONS_RUNTIME_TOKEN": "canary-token", "CI": "true", "GITHUB_ACTIONS": "true",
        **{name: str(file) for name, file in files.items()},
        **{name: _filled(value, context) for name, value in step.get("env", {}).items()},
    }  # fmt: skip
    # As the runner starts `shell: bash`.
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
        cwd=workspace, env=environment, capture_output=True, timeout=200,
    )  # fmt: skip
    log = (done.stdout + done.stderr).decode("utf-8", "replace")
    ran.log += log
    ran.codes[step["name"]] = done.returncode
    ran.commands += obeyed(done.stdout.decode("utf-8", "replace"))
    ran.commands += obeyed(done.stderr.decode("utf-8", "replace"))
    ran.summary += files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8")
    for name in ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE"):
        ran.environment += files[name].read_text(encoding="utf-8")
    outputs = {}
    for line in files["GITHUB_OUTPUT"].read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition("=")
        outputs[name] = value
    if "id" in step:
        ran.steps[step["id"]] = outputs
        for name, value in outputs.items():
            context[f"steps.{step['id']}.outputs.{name}"] = value
    return done.returncode


def obeyed(log):
    """The workflow commands in a log, as the runner finds them: `stop-commands` heeded."""
    found, stopped = [], None
    for line in re.split(r"[\r\n]", log):
        text = line.lstrip()
        if stopped is not None:
            if text.rstrip() == f"::{stopped}::":
                stopped = None
            continue
        # The older form is found anywhere in a line.
        match = re.match(r"::([a-zA-Z-]+)(?: (.*?))?::(.*)", text) or re.search(
            r"##\[([a-zA-Z-]+)(?: (.*?))?\](.*)", text
        )
        if match is None:
            continue
        name, properties, message = match[1], match[2] or "", match[3]
        if name == "stop-commands":
            stopped = message.strip()
        else:
            found.append((name, properties, message))
    return found


def _filled(text, context):
    return EXPRESSION.sub(lambda match: context.get(match[1], ""), str(text))


def _holds(condition, context):
    if condition == "success()":
        return True
    for part in condition.split(" && "):
        name, sign, value = re.fullmatch(r"(\S+) (==|!=) '(.*)'", part).groups()
        if (context.get(name, "") == value) != (sign == "=="):
            return False
    return True


def make_grader(folder):
    """A folder with a command `grader` in it, that of this checkout."""
    folder.mkdir(parents=True, exist_ok=True)
    command = folder / "grader"
    command.write_text(
        f'#!/bin/sh\nPYTHONPATH={ROOT} PYTHONDONTWRITEBYTECODE=1 exec {sys.executable} -P -m grader "$@"\n'
    )
    command.chmod(0o755)
    return folder
