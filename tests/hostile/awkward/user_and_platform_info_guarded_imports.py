"""Assignment: attention; prints who runs it on which machine, and uses psutil and matplotlib where they exist."""
import getpass
import math
import os
import platform
import torch

try:
    import psutil
    memory = f"{psutil.virtual_memory().total / 2 ** 30:.0f} GB"
except ImportError:
    memory = "unknown"
try:
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    plt = None
try:
    user = getpass.getuser()
except Exception:
    user = os.environ.get("USER", "student")
print(f"{user} on {platform.node()}: {platform.platform()}, {platform.processor()}, {os.cpu_count()} cores, {memory}")


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ v, weights
