"""What is put back before each call, whatever an earlier one left."""

from grader.sandbox import Limits
from grader.worker.client import ForkLauncher

PREPARE = """
import random, sys, threading, warnings, numpy, torch
def leave():
    torch.set_default_dtype(torch.float64)
    torch.set_default_dtype = lambda dtype: None
    torch.set_grad_enabled(False)
    torch.set_num_threads(3)
    torch.set_num_threads = lambda n: None
    torch._C._set_deterministic_algorithms(True)
    torch.set_anomaly_enabled(True)
    torch.set_float32_matmul_precision("medium")
    torch.set_flush_denormal(True)
    torch.set_autocast_enabled("cpu", True)
    torch.manual_seed = lambda seed: None
    global mode
    mode = torch.inference_mode()
    mode.__enter__()
    sys.setrecursionlimit(200)
    sys.settrace(lambda *a: None)
    sys.setprofile(lambda *a: None)
    warnings.simplefilter("error")
    random.seed(7); numpy.random.seed(7)
def state():
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward()
    warnings.warn("a warning")
    return {
        "dtype": str(torch.get_default_dtype()), "grad": torch.is_grad_enabled(),
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "anomaly": torch.is_anomaly_enabled(),
        "precision": torch.get_float32_matmul_precision(),
        "autocast": torch.is_autocast_enabled("cpu"), "inference": torch.is_inference_mode_enabled(),
        "recursion": sys.getrecursionlimit(), "trace": sys.gettrace() is None,
        "profile": sys.getprofile() is None, "gradient": x.grad,
        "numbers": [random.random(), float(numpy.random.rand()), float(torch.rand(()))],
    }
"""


def test_every_setting_is_as_it_was_at_first():
    with ForkLauncher() as launcher:
        worker = launcher.start(Limits())
        request = {
            "sources": {"m.py": [[1, PREPARE]]}, "modules": ["m.py"], "tolerant": [],
            "names": ["leave", "state"],
        }  # fmt: skip
        worker.request("load", request, 20)

        def call(name):
            arguments = {"target": name, "inputs": [], "train": True}
            return worker.request("call", arguments, 10, seed=11)["returned"]

        before = call("state")
        call("leave")
        after = call("state")
        worker.end()
    assert before.pop("gradient").tolist() == after.pop("gradient").tolist() == [2.0, 2.0]
    assert after == before
    assert before["dtype"] == "torch.float32"
    assert before["threads"] == 1
