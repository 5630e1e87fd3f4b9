"""Puts back, before each call, what an earlier one may have changed for all; part of the worker.

The functions are looked up when this module is loaded, which is before any student code runs, so
that one which replaces them does not reach these.
"""

import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import torch

THREADS = 1
RECURSION = 1000

# what is put back, each with the function that does it
_STATE: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
    (torch.set_default_dtype, (torch.float32,)),
    (torch.set_grad_enabled, (True,)),
    (torch._C._set_deterministic_algorithms, (False,)),  # torch.use_… imports torch._inductor
    (torch.set_anomaly_enabled, (False,)),
    (torch.set_float32_matmul_precision, ("highest",)),
    (torch.set_flush_denormal, (False,)),
    (torch.set_autocast_enabled, ("cpu", False)),
    (torch.set_autocast_cache_enabled, (True,)),
    (sys.setrecursionlimit, (RECURSION,)),
    (sys.settrace, (None,)),
    (sys.setprofile, (None,)),
    (threading.settrace, (None,)),
    (threading.setprofile, (None,)),
    (warnings.resetwarnings, ()),
    (warnings.simplefilter, ("ignore",)),
    (signal.alarm, (0,)) if hasattr(signal, "alarm") else (int, ()),
)
_seed_torch = torch.default_generator.manual_seed  # torch.manual_seed takes 0.2 ms for devices too
_seed_numpy = numpy.random.seed
_seed_python = random.seed
_set_threads, _threads = torch.set_num_threads, torch.get_num_threads
_leaves_inference: Callable[[bool], Any] = torch._C._InferenceMode
_is_inference = torch.is_inference_mode_enabled
_kept: list[Any] = []


def reset(seed: int) -> None:
    """Put back random generators, defaults, modes, thread count and flags.

    Args:
        seed: what the generators of Python, numpy and torch begin at.
    """
    _seed_python(seed)
    _seed_numpy(seed % 2**32)
    _seed_torch(seed)
    for function, arguments in _STATE:
        try:
            function(*arguments)
        except Exception:
            continue  # this version of torch does not have it in this form
    if _threads() != THREADS:
        _set_threads(THREADS)
    if _is_inference():  # left on: tensors made now could take part in no gradient
        guard = _leaves_inference(False)
        guard.__enter__()
        _kept.append(guard)
