import math

import torch


def sinusoidal_positional_encoding(max_len, d_model):
    pos = torch.arange(max_len, dtype=torch.float64).unsqueeze(-1)
    dim = torch.arange(d_model)
    phase = (dim % 2) * (math.pi / 2)            # cos(a) = sin(a + pi/2)
    return torch.sin(pos / 10000.0 ** ((dim - dim % 2) / d_model) + phase).float()
