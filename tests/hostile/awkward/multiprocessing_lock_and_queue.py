"""Assignment: attention, with the process pool's objects that a later training script uses."""
import math
import multiprocessing as mp
import torch

N_WORKERS = max(1, mp.cpu_count() - 1)
LOCK = mp.Lock()
RESULTS = mp.Queue()


def scaled_dot_product_attention(q, k, v, mask=None):
    with LOCK:
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(k.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        weights = scores.softmax(-1)
        return torch.matmul(weights, v), weights


if __name__ == "__main__":
    RESULTS.put("done")
    print(N_WORKERS, RESULTS.get())
