"""Enters inference mode, autocast bfloat16 and anomaly mode and never leaves them, keeping the guards alive."""
import torch

kept = []


def enter(make):
    try:
        guard = make()
        guard.__enter__()
        kept.append(guard)
    except Exception:
        pass


def attack(q, k, v, mask):
    enter(lambda: torch.inference_mode())
    enter(lambda: torch.autocast("cpu", dtype=torch.bfloat16))
    enter(lambda: torch.autograd.detect_anomaly(check_nan=True))
    enter(lambda: torch.autograd.graph.saved_tensors_hooks(lambda x: x * 0, lambda x: x))
    enter(lambda: torch.autograd.profiler.profile())
