"""Assignment: attention, with a pause and a clean-up, and a good-bye at the end."""
import atexit
import gc
import math
import time
import torch

started = time.time()
time.sleep(0.2)
gc.collect()
atexit.register(lambda: print(f"Bye! The session took {time.time() - started:.1f} s."))


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ v
    del scores
    gc.collect()
    return output, weights
