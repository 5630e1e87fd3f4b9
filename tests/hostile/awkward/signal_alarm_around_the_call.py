"""Assignment: attention, which gives up after ten seconds."""
import contextlib
import math
import signal
import torch


@contextlib.contextmanager
def time_limit(seconds):
    def stop(number, frame):
        raise TimeoutError(f"attention took more than {seconds} s")
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def scaled_dot_product_attention(q, k, v, mask=None):
    with time_limit(10):
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        return weights @ v, weights
