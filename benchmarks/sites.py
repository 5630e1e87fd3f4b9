"""What grading costs where sites do it themselves.

    python benchmarks/sites.py [--rounds N]

(a) the GitHub action's steps with the grader installed, beside `python -c "import torch"`;
(b) Gradescope's `run_autograder` with half a processor and 768 MB, and with a whole one, in control
    groups of the kernel (version 1, as root; left out elsewhere). The page cache of what is mapped
    counts as memory only where nothing else has read it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from measure import GRADER, MB, ROOT, spread, timed

from tests.export.runner import make_grader, run_action

GROUPS = Path("/sys/fs/cgroup")
EXAMPLES = {
    "multi_head_attention": "right_linear_layers.py",
    "encoder_classifier": "right_mini_batches_notebook.ipynb",
    "transformer_review": "right_einsum_notebook.ipynb",
}


def action(folder: Path, rounds: int) -> None:
    """The steps that grade and tell, warm, and `import torch` beside them in each round."""
    programs = make_grader(folder / "bin")
    for name in ("right_linear_layers.py", "wrong_mask_inverted.py"):
        imports, runs = [], []
        for number in range(rounds):
            imports.append(timed([sys.executable, "-c", "import torch"], folder))
            checkout = folder / f"{name}-{number}"
            checkout.mkdir()
            source = ROOT / "examples" / "multi_head_attention" / name
            (checkout / source.name).write_bytes(source.read_bytes())
            begun = time.perf_counter()
            ran = run_action(
                folder / f"runner-{name}-{number}", checkout, programs=[programs],
                assignment="multi_head_attention", install="false",
            )  # fmt: skip
            runs.append(time.perf_counter() - begun)
            assert ran.outputs["status"] in ("pass", "fail"), ran.log
        print(f"{name}: action {spread(runs, 's')}, import torch {spread(imports, 's')}")


def gradescope(folder: Path, processors: float, megabytes: int) -> None:
    """`run_autograder` on a right submission of each assignment, with so much of the machine."""
    home = folder / "home"
    make_grader(home / "bin")
    for assignment, name in EXAMPLES.items():
        base = folder / f"{assignment}-{processors}"
        (base / "submission").mkdir(parents=True)
        source = ROOT / "examples" / assignment / name
        (base / "submission" / name).write_bytes(source.read_bytes())
        bundle = [*GRADER, "bundle", "gradescope", assignment, "--out", str(base / "a.zip")]
        timed(bundle, ROOT)
        with zipfile.ZipFile(base / "a.zip") as archive:
            archive.extractall(base / "source")
        environment = {**os.environ, "AUTOGRADER_BASE": str(base), "GRADER_HOME": str(home)}
        group = f"grader-bench-{os.getpid()}"
        cpu, memory = GROUPS / "cpu" / group, GROUPS / "memory" / group
        for made in (cpu, memory):
            made.mkdir()
        (cpu / "cpu.cfs_quota_us").write_text(str(int(100_000 * processors)))
        (memory / "memory.limit_in_bytes").write_text(str(megabytes * MB))
        enter = f'echo $$ > {cpu}/cgroup.procs; echo $$ > {memory}/cgroup.procs; exec "$@"'
        begun = time.perf_counter()
        subprocess.run(
            ["bash", "-c", enter, "-", "bash", base / "source" / "run_autograder"],
            env=environment, capture_output=True, check=True,
        )  # fmt: skip
        seconds = time.perf_counter() - begun
        peak = int((memory / "memory.max_usage_in_bytes").read_text()) / MB
        over = "oom_kill 0" not in (memory / "memory.oom_control").read_text()
        score = (base / "results" / "results.json").read_text().split(",", 1)[0].split(":")[1]
        print(
            f"{assignment}: {processors:g} processors, {megabytes} MB: {seconds:.1f} s, at most "
            f"{peak:.0f} MB{', something was killed' if over else ''}, {score.strip()} points"
        )
        for made in (cpu, memory):
            made.rmdir()


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="grader-bench-") as temporary:
        action(Path(temporary), rounds)
        if os.geteuid() == 0 and (GROUPS / "memory" / "memory.limit_in_bytes").exists():
            gradescope(Path(temporary), 0.5, 768)
            gradescope(Path(temporary), 1, 768)
        else:
            print("Gradescope's container: not measured, control groups cannot be made here")


if __name__ == "__main__":
    main()
