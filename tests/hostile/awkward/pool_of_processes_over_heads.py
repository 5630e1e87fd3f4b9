"""Right, and awkward: a pool of processes works on the heads, and a ProcessPoolExecutor on the scale."""
import math
import multiprocessing as mp
from concurrent.futures import ProcessPoolExecutor

import torch


def one_head(parts):
    q, k, v, mask = parts
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ v, weights


def scaled_dot_product_attention(q, k, v, mask=None):
    with mp.get_context("fork").Pool(2) as pool, ProcessPoolExecutor(1) as executor:
        pooled = pool.map(one_head, [(q, k, v, mask)])
        again = executor.submit(one_head, (q, k, v, mask)).result()
    assert torch.equal(pooled[0][0], again[0])
    return again
