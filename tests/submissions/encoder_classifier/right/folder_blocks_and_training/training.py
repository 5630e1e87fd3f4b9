import math

import torch
import torch.nn.functional as F
from torch import nn


def parameter_groups(model, weight_decay):
    decay, no_decay = set(), set()
    kinds = (nn.LayerNorm, nn.GroupNorm, nn.Embedding)
    for module in model.modules():
        for name, p in module.named_parameters(recurse=False):
            exempt = isinstance(module, kinds) or "bias" in name or p.ndim < 2
            (no_decay if exempt else decay).add(p)
    return [{"params": list(decay), "weight_decay": weight_decay},
            {"params": list(no_decay), "weight_decay": 0.0}]


class _Schedule:
    """Linear warmup, then half a cosine down to zero."""

    def __call__(self, step, warmup_steps, total_steps, lr_max):
        return lr_max * (self.rise(step, warmup_steps) if step < warmup_steps
                         else self.fall(step - warmup_steps, max(1, total_steps - warmup_steps)))

    @staticmethod
    def rise(step, n):
        return step / n

    @staticmethod
    def fall(step, n):
        return (1.0 + math.cos(step / n * math.pi)) * 0.5


warmup_cosine = _Schedule()


def endless(input_ids, labels, size):
    while True:
        order = torch.randperm(len(labels))
        for rows in order.split(size):
            yield input_ids[rows], labels[rows]


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    size = 16
    per_epoch = math.ceil(len(labels) / size)
    total = epochs * per_epoch
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max, amsgrad=True)
    stream = endless(input_ids, labels, size)
    losses = []
    model.train()
    for step in range(total):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(step, max(1, total // 20), total, lr_max)
        x, y = next(stream)
        optimizer.zero_grad(set_to_none=False)
        loss = F.cross_entropy(model(x), y, label_smoothing=label_smoothing)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return [sum(losses[i:i + per_epoch]) / per_epoch for i in range(0, total, per_epoch)]
