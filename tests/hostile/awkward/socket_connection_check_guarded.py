"""Assignment: attention; checks at import whether the course's proxy on this machine answers."""
import math
import socket
import torch


def online(host="127.0.0.1", port=8899, timeout=1.0):
    try:
        with socket.create_connection((host, port), timeout=timeout):
            return True
    except OSError:
        return False


ONLINE = online()
if not ONLINE:
    print("No connection: pretrained weights are not downloaded.")


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ v, weights
