"""Assignment: attention; looks at import which GPU there is."""
import math
import subprocess
import torch

try:
    done = subprocess.run(["nvidia-smi"], capture_output=True, text=True, timeout=5)
    GPU = done.stdout.splitlines()[0] if done.returncode == 0 and done.stdout else "none"
except Exception as e:
    GPU = f"none ({type(e).__name__})"
print("GPU:", GPU)
device = "cuda" if torch.cuda.is_available() else "cpu"


def scaled_dot_product_attention(q, k, v, mask=None):
    d_k = q.size(-1)
    scores = torch.einsum("...qd,...kd->...qk", q, k) / math.sqrt(d_k)
    if mask is not None:
        scores = torch.where(mask == 0, torch.tensor(float("-inf")), scores)
    weights = torch.softmax(scores, dim=-1)
    return torch.einsum("...qk,...kd->...qd", weights, v), weights
