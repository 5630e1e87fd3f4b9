import torch


def allowed(mask):
    """Any 0/1 mask as bool, True = may attend."""
    return mask if mask.dtype == torch.bool else mask.ne(0)


def divide(a, b):
    whole, rest = divmod(a, b)
    if rest:
        raise ArithmeticError(f"{a} is not a multiple of {b}")
    return whole
