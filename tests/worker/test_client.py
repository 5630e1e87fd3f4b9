"""Workers: they answer, and however they end, only their own request suffers."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from grader.errors import StudentCrashed, StudentRaised, StudentTimedOut
from grader.sandbox import Limits
from grader.worker.answers import Kept
from grader.worker.client import ForkLauncher, SpawnLauncher

SOURCE = """
import os, sys, time, signal
import torch
from torch import nn

class Layer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, size)
        self.dropout = nn.Dropout(0.5)
    def forward(self, x):
        return self.dropout(self.linear(x))

def double(x):
    return x * 2, {"again": [x, None, 1.5, "text"]}

def in_place(x):
    x += 1
    return x

def fail(x):
    return helper(x)

def helper(x):
    raise ValueError("a message")

def odd_error(x):
    class Odd(Exception):
        def __str__(self):
            raise RuntimeError
    raise Odd

def leave(x): sys.exit(3)
def end(x): os._exit(7)
def kill(x): os.kill(os.getpid(), signal.SIGSEGV)
def hang(x):
    while True: pass
def sleep(x): time.sleep(60)
def recurse(x): return recurse(x)
def allocate(x): return torch.ones(10**10)
def huge(x): return torch.zeros(1).expand(10**9)
def write(x):
    with open("file", "wb") as file:
        for _ in range(200): file.write(b"x" * 2**20)
def talk(x):
    print("said", "\\N{SNOWMAN}"); print("error", file=sys.stderr); return x
def flood(x):
    while True: os.write(1, b"x" * 65536)
def nonsense(x):
    os.write(3, b"HTTP/1.1 200 OK" * 10); time.sleep(60)
def orphan(x):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(300)
        os._exit(0)
    os.wait()
    return x
def noise(x): return torch.rand(4)
def change(x):
    torch.set_default_dtype(torch.float64); torch.set_grad_enabled(False)
def state(x): return str(torch.get_default_dtype()), torch.randn(1)
def see(x): return sorted(os.environ), os.getcwd(), [m for m in sys.modules if "grader" in m]
def find(x):
    import importlib
    found = []
    for name in ("grader", "grader.assignment", "reference", "assignments"):
        try: importlib.import_module(name); found.append(name)
        except ImportError: pass
    return found
"""
NAMES = [line.split("(")[0].split()[1] for line in SOURCE.splitlines() if line.startswith("def ")]


def load(worker, source=SOURCE):
    arguments = {
        "sources": {"module.py": [[1, source]]},
        "modules": ["module.py"],
        "tolerant": [],
        "names": [*NAMES, "Layer"],
    }
    return worker.request("load", arguments, 20)


def call(worker, name, x=1, seconds=5.0, seed=0, **more):
    request = {"target": name, "inputs": [x], "names": ["x"], "echo": True, **more}
    return worker.request("call", request, seconds, seed)


@pytest.fixture(scope="module")
def fork():
    with ForkLauncher() as launcher:
        yield launcher


@pytest.fixture
def worker(fork):
    worker = fork.start(Limits(memory_bytes=2**30))
    load(worker)
    yield worker
    worker.end()


def test_values_and_tensors_come_back(worker):
    x = torch.randn(2, 3)
    answer = call(worker, "double", x)
    doubled, inner = answer["returned"]
    assert torch.equal(doubled, x * 2)
    assert torch.equal(inner["again"][0], x)
    assert inner["again"][1:] == [None, 1.5, "text"]


def test_inputs_come_back_as_they_are_afterwards(worker):
    answer = call(worker, "in_place", torch.zeros(2))
    assert torch.equal(answer["inputs"][0], torch.ones(2))


def test_a_module_is_kept_given_weights_and_asked_for_gradients(worker):
    layer = call(worker, "Layer", 3)["returned"]
    assert isinstance(layer, Kept)
    parameters = worker.request("parameters", {"target": layer}, 5)
    assert list(parameters) == ["linear.weight", "linear.bias"]
    values = {"linear.weight": torch.eye(3) * 2, "linear.bias": torch.ones(3)}
    worker.request("set_parameters", {"target": layer, "values": values}, 5)
    x, probe = torch.randn(4, 3), torch.randn(4, 3)
    answer = call(worker, layer, x, probe=probe, gradients_of=[0])
    torch.testing.assert_close(answer["returned"], x * 2 + 1)
    torch.testing.assert_close(answer["input_gradients"][0], probe * 2)
    torch.testing.assert_close(answer["parameter_gradients"]["linear.bias"], probe.sum(0))
    worker.request("mode", {"target": layer, "train": True}, 5)
    assert (call(worker, layer, x)["returned"] == 0).any()


def test_operations_are_counted(worker):
    answer = call(worker, "double", torch.zeros(4, 5), count=True)
    assert answer["operations"] == 20


def test_an_exception_comes_back_with_the_students_own_frames(worker):
    with pytest.raises(StudentRaised) as info:
        call(worker, "fail")
    assert (info.value.kind, info.value.text) == ("ValueError", "a message")
    lines = SOURCE.splitlines()
    assert [frame.function for frame in info.value.frames] == ["fail", "helper"]
    assert "raise ValueError" in lines[info.value.frames[-1].line - 1]
    assert info.value.frames[-1].file == "module.py"


@pytest.mark.parametrize("name", ["odd_error", "leave", "recurse", "huge"])
def test_the_worker_goes_on_after_an_exception(worker, name):
    with pytest.raises(StudentRaised):
        call(worker, name)
    assert call(worker, "double", 2)["returned"][0] == 4


@pytest.mark.parametrize(("name", "word"), [("end", "exit code 7"), ("kill", "SIGSEGV")])
def test_a_worker_that_ends_is_told(worker, name, word):
    with pytest.raises(StudentCrashed, match=word):
        call(worker, name)
    with pytest.raises(StudentCrashed):
        call(worker, "double")


@pytest.mark.parametrize("name", ["hang", "sleep"])
def test_a_worker_that_hangs_is_ended_at_the_deadline(worker, name):
    begun = time.monotonic()
    with pytest.raises(StudentTimedOut):
        call(worker, name, seconds=0.3)
    assert time.monotonic() - begun < 5
    assert worker.ended is not None


def test_an_answer_that_is_nonsense_ends_the_worker(worker):
    with pytest.raises(StudentCrashed, match="not an answer"):
        call(worker, "nonsense", seconds=3)


@pytest.mark.parametrize("name", ["allocate", "write"])
def test_memory_and_file_size_are_limited(worker, name):
    with pytest.raises((StudentRaised, StudentCrashed)) as info:
        call(worker, name)
    assert any(word in str(info.value) for word in ("memory", "File too large", "SIGXFSZ"))


def test_processor_time_is_limited(fork):
    worker = fork.start(Limits(cpu_seconds=1))
    load(worker)
    with pytest.raises(StudentCrashed, match=r"processor time|killed"):
        call(worker, "hang", seconds=20)


def test_output_is_kept_aside(worker):
    call(worker, "talk")
    worker.end()
    assert sorted(worker.output.text().splitlines()) == ["error", "said \N{SNOWMAN}"]


def test_a_flood_of_output_ends_the_worker(worker):
    with pytest.raises((StudentCrashed, StudentTimedOut), match=r"printed more than|still running"):
        call(worker, "flood", seconds=20)
    assert len(worker.output.kept) <= 20_000


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_nothing_is_left_running(fork):
    worker = fork.start(Limits())
    load(worker)
    with pytest.raises(StudentRaised, match="PermissionError"):
        call(worker, "orphan")  # no process can be started
    zygote = fork._process.pid
    children = Path(f"/proc/{zygote}/task/{zygote}/children")
    worker.end()
    assert children.read_text().split() == []


def test_random_numbers_and_defaults_are_put_back_before_each_call(worker):
    before = call(worker, "state", seed=5)["returned"]
    call(worker, "change")
    after = call(worker, "state", seed=5)["returned"]
    assert before[0] == after[0] == "torch.float32"
    assert torch.equal(before[1], after[1])
    other = call(worker, "state", seed=6)["returned"]
    assert not torch.equal(before[1], other[1])


def test_the_worker_sees_neither_the_callers_environment_nor_the_project(worker, monkeypatch):
    names, folder, modules = call(worker, "see")["returned"]
    assert "GITHUB_TOKEN" not in names
    assert set(names) <= {
        "PATH", "HOME", "TMPDIR", "TEMP", "LANG", "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE",
        "PYTHONUTF8", "PYTHONWARNINGS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "LC_CTYPE",
        "OPENBLAS_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "MPLBACKEND", "TZ", "LD_LIBRARY_PATH",
        "PIP_NO_INDEX", "PIP_DISABLE_PIP_VERSION_CHECK",
        "KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK", "TORCHINDUCTOR_CACHE_DIR",
    }  # fmt: skip
    assert Path(folder) != Path.cwd()
    assert modules == []
    assert call(worker, "find")["returned"] == []


def test_a_broken_zygote_is_replaced():
    with ForkLauncher() as launcher:
        first = launcher.start(Limits())
        launcher._process.kill()
        launcher._process.wait()
        first.end()
        second = launcher.start(Limits())
        load(second)
        assert call(second, "double", 2)["returned"][0] == 4


def test_without_fork_a_fresh_interpreter_answers_the_same():
    with SpawnLauncher() as launcher:
        worker = launcher.start(Limits())
        load(worker)
        x = torch.randn(2, 3).T
        assert torch.equal(call(worker, "double", x)["returned"][0], x * 2)
        with pytest.raises(StudentRaised):
            call(worker, "fail")
        with pytest.raises(StudentCrashed, match="exit code 7"):
            call(worker, "end")


def test_closing_ends_the_zygote_and_removes_its_folder():
    launcher = ForkLauncher()
    worker = launcher.start(Limits())
    load(worker)
    process, folder = launcher._process, Path(launcher._folder)
    assert folder.is_dir()
    launcher.close()
    assert process.poll() is not None
    assert not folder.exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_workers_end_when_the_trusted_process_is_killed(tmp_path):
    script = tmp_path / "trusted.py"
    script.write_text(
        "import sys, time\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "from grader.worker.client import ForkLauncher\n"
        "from grader.sandbox import Limits\n"
        "launcher = ForkLauncher()\n"
        "worker = launcher.start(Limits())\n"
        "print(launcher._process.pid, flush=True)\n"
        "worker.request('load', {'sources': {'m.py': [[1, 'while True: pass']]},"
        " 'modules': ['m.py'], 'tolerant': [], 'names': []}, 600)\n"
    )
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as trusted:
        zygote = trusted.stdout.readline().split()[0]
        trusted.kill()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{zygote}").exists() and time.monotonic() < deadline:
        os.sched_yield()
    assert not Path(f"/proc/{zygote}").exists()
