"""Assignment: attention; the table of scales is computed through a DataLoader with two workers."""
import functools
import math
import torch
from torch.utils.data import DataLoader, Dataset


class Widths(Dataset):
    def __len__(self):
        return 128

    def __getitem__(self, i):
        return i + 1, math.sqrt(i + 1)


WIDTHS = Widths()


@functools.lru_cache(maxsize=None)
def scales():
    table = {}
    for widths, roots in DataLoader(WIDTHS, batch_size=32, num_workers=2):
        table.update(zip(widths.tolist(), roots.tolist()))
    return table


def scaled_dot_product_attention(q, k, v, mask=None):
    d_k = q.size(-1)
    scores = q @ k.transpose(-2, -1) / scales().get(d_k, math.sqrt(d_k))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ v, weights
