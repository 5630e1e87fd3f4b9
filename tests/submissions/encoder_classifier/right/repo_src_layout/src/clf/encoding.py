import numpy as np
import torch


def sinusoidal_positional_encoding(max_len, d_model):
    angles = np.arange(max_len)[:, np.newaxis] / np.power(10000, (2 * (np.arange(d_model)[np.newaxis] // 2)) / np.float64(d_model))
    angles[:, 0::2] = np.sin(angles[:, 0::2])
    angles[:, 1::2] = np.cos(angles[:, 1::2])
    return torch.tensor(angles, dtype=torch.float32)


def padding_mask(input_ids, pad_id):
    return torch.from_numpy(input_ids.detach().cpu().numpy() == pad_id).to(input_ids.device)
