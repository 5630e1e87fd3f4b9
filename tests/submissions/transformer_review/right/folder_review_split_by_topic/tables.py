import torch


def causal_mask(size):
    return torch.ones(size, size, dtype=torch.uint8).tril().to(torch.bool)


def sinusoidal_positional_encoding(max_len, d_model):
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    a = torch.arange(max_len, dtype=torch.float64).outer(10000 ** -(even / d_model))
    out = torch.empty(max_len, d_model)
    out[:, ::2], out[:, 1::2] = a.sin().float(), a.cos().float()
    return out
