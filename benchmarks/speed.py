"""How fast grading is, as ratios measured side by side in one run.

    python benchmarks/speed.py [--rounds N] [--further N]

(a) `grader check` on a right submission, beside `python -c "import torch"`;
(b) each further submission of one `grader grade`, beside a fresh `pytest` process for each of the
    same submissions, which imports it into itself and runs a dozen plain tests on it;
(c) the most memory that the processes of a batch take together (proportional set size);
(d) what shutting a worker in costs, level beside level, and the memory of eight workers at a time.
"""

import argparse
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from measure import GRADER, ROOT, Memory, descendants, proportional, spread, timed

RIGHT = ROOT / "examples" / "multi_head_attention" / "right_linear_layers.py"
CORPUS = ROOT / "tests" / "submissions" / "multi_head_attention" / "right"

LAYER = """
import torch
def step():
    layer = torch.nn.Linear(32, 32)
    optimizer = torch.optim.AdamW(layer.parameters())
    layer(torch.randn(8, 32)).square().sum().backward()
    optimizer.step()
"""
PLAIN_TESTS = """
import pytest, torch
from torch.nn import functional as F
from submission import MultiHeadAttention, merge_heads, scaled_dot_product_attention, split_heads

@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (2, 2, 3, 4)])
@pytest.mark.parametrize("masked", [False, True])
def test_attention(shape, masked):
    q, k, v = (torch.randn(shape) for _ in range(3))
    mask = torch.ones(3, 3).tril().bool() if masked else None
    expected = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    torch.testing.assert_close(scaled_dot_product_attention(q, k, v, mask)[0], expected)

def test_heads():
    x = torch.randn(2, 3, 8)
    assert split_heads(x, 2).shape == (2, 2, 3, 4)
    assert torch.equal(merge_heads(split_heads(x, 2)), x)

@pytest.mark.parametrize("n_heads", [1, 2, 4, 8])
def test_layer(n_heads):
    layer = MultiHeadAttention(32, n_heads)
    assert sum(p.numel() for p in layer.parameters()) >= 4 * 32 * 32
    x = torch.randn(1, 6, 32)
    output, weights = layer(x, x, x)
    assert output.shape == (1, 6, 32) and weights.shape == (1, n_heads, 6, 6)

def test_error():
    with pytest.raises(Exception):
        MultiHeadAttention(10, 4)
"""


def check_beside_import(rounds: int, folder: Path) -> None:
    """(a): both commands in turn."""
    imports, checks = [], []
    for _ in range(rounds):
        imports.append(timed([sys.executable, "-c", "import torch"], folder))
        checks.append(timed([*GRADER, "check", str(RIGHT)], ROOT))
    ratios = [check / base for check, base in zip(checks, imports, strict=True)]
    print("(a) grader check on a right submission, beside import torch")
    print(f"    import torch   {spread(imports, 's')}")
    print(f"    grader check   {spread(checks, 's')}")
    print(f"    ratio          {spread(ratios, '×')}   (aim: at most 1.5×)")


def further_beside_pytest(further: int, folder: Path) -> None:
    """(b) and (c): a batch of varied right submissions, and fresh processes on one of them."""
    varied = [p for p in sorted(CORPUS.iterdir()) if p.suffix == ".py"][:further]
    one = timed([*GRADER, "grade", str(RIGHT), "--out", str(folder / "one")], ROOT)
    with Memory() as memory:
        command = [*GRADER, "grade", str(RIGHT), *map(str, varied), "--out", str(folder / "many")]
        many = timed(command, ROOT)
    each = (many - one) / len(varied)
    (folder / "test_plain.py").write_text(PLAIN_TESTS)
    plain = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_plain.py"]
    fresh = []
    for path in varied[::4]:  # the same submissions, a quarter of them, one process each
        (folder / "submission.py").write_bytes(path.read_bytes())
        fresh.append(timed(plain, folder, codes=(0, 1)))
    print(f"(b) each of {len(varied)} further submissions, beside a fresh pytest process for each")
    print(f"    first submission            {one:.2f} s")
    print(f"    each further, 41 checks     {each:.3f} s")
    print(f"    fresh pytest, 12 tests      {spread(fresh, 's')}")
    print(f"    ratio                       {statistics.median(fresh) / each:.1f}×   (aim: 10×)")
    print("(c) memory of a batch")
    print(f"    all processes together      {memory.peak / 2**20:.0f} MB")


def sandbox(rounds: int) -> None:
    """(d): workers that load a layer, call it and take an optimizer step, at each level in turn."""
    sys.path.insert(0, str(ROOT))
    from grader.errors import IsolationUnavailable
    from grader.sandbox import LEVELS, Limits
    from grader.worker.client import ForkLauncher

    request = {
        "sources": {"m.py": [[1, LAYER]]}, "modules": ["m.py"], "tolerant": [], "names": ["step"],
    }  # fmt: skip

    def used(launcher: ForkLauncher) -> Any:
        worker = launcher.start(Limits(), trains=True)
        worker.request("load", request, 20)
        worker.request("call", {"target": "step", "inputs": [], "train": True}, 20)
        return worker

    seconds: dict[str, list[float]] = {}
    memory = {}
    with ExitStack() as stack:
        launchers = {}
        for level in LEVELS:
            launcher = stack.enter_context(ForkLauncher(level))
            try:
                used(launcher).end()
            except IsolationUnavailable:
                continue
            launchers[level] = launcher
        for _ in range(5 * rounds):
            for level, launcher in launchers.items():
                begun = time.perf_counter()
                used(launcher).end()
                seconds.setdefault(level, []).append(time.perf_counter() - begun)
        for level, launcher in launchers.items():
            lanes = [used(launcher) for _ in range(8)]
            assert launcher._process is not None
            zygote = launcher._process.pid
            memory[level] = sum(map(proportional, [zygote, *descendants(zygote)]))
            for worker in lanes:
                worker.end()
    print("(d) a worker that loads, trains one step and ends; eight at a time with their zygote")
    for level, values in seconds.items():
        shown = spread([1000 * value for value in values], "ms")
        print(f"    {level:<12}{shown}   {memory[level] / 2**20:.0f} MB")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--further", type=int, default=40)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        check_beside_import(options.rounds, Path(folder))
        further_beside_pytest(options.further, Path(folder))
    sandbox(options.rounds)


if __name__ == "__main__":
    main()
