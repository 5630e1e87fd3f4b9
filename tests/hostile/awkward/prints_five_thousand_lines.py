"""Assignment: attention, with a lot of debugging output."""
import math
import torch

DEBUG_STEPS = 5000
for step in range(DEBUG_STEPS):
    print(f"step {step:5d}: 2 ** {step % 64} = {2 ** (step % 64)}")


def scaled_dot_product_attention(q, k, v, mask=None):
    print("q", q.shape, "k", k.shape, "v", v.shape, "mask", None if mask is None else mask.shape)
    torch.set_printoptions(profile="full")
    print(q)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    print("scores:\n", scores)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
        print("masked scores:\n", scores)
    weights = torch.softmax(scores, dim=-1)
    print("weights:\n", weights)
    torch.set_printoptions(profile="default")
    return weights @ v, weights
