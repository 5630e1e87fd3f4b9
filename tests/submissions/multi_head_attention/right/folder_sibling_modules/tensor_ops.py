import torch


def split_heads(x, n_heads):
    """(B, T, D) -> (B, H, T, d_k)"""
    return torch.movedim(x.reshape(x.shape[0], x.shape[1], n_heads, -1), 2, 1)


def merge_heads(x):
    return torch.concat(x.unbind(1), dim=-1)


def allow(mask, like):
    """0/1 mask -> additive mask"""
    if mask is None:
        return 0.0
    return torch.zeros_like(mask, dtype=like.dtype).masked_fill(mask == 0, float("-inf"))
