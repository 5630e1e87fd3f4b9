__all__ = ["split_heads", "merge_heads"]


def check(d_model, n_heads):
    if d_model % n_heads:
        raise ValueError("every head needs the same width")


def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).movedim(-2, 1)


def merge_heads(x):
    return x.movedim(1, -2).flatten(-2)
