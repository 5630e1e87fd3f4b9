"""Training: AdamW groups, warmup and cosine decay, label smoothing (lesson 84)."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Cut the parameters into two groups for `torch.optim.AdamW`: matrices decay, vectors do not.

    Biases and the norms' gains and shifts are vectors. Every parameter is in exactly one group.
    Decoupled decay (Loshchilov and Hutter 2019): θ ← θ - η·update - η·weight_decay·θ.
    """
    parameters = list(model.parameters())
    return [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]


def warmup_cosine(step: int, warmup_steps: int, total_steps: int, lr_max: float) -> float:
    """Return the learning rate of a step (Loshchilov and Hutter 2017, equation 5, after a warmup).

    It grows linearly from 0 at step 0 to lr_max at step warmup_steps, then falls as half a cosine
    to 0 at step total_steps.

    Args:
        step: 0 to total_steps.
        warmup_steps: less than total_steps.
        total_steps: the step at which the rate is 0.
        lr_max: the greatest rate.
    """
    if step < warmup_steps:
        return lr_max * step / warmup_steps
    progress = (step - warmup_steps) / (total_steps - warmup_steps)  # 0 … 1
    return lr_max * 0.5 * (1 + math.cos(math.pi * progress))


def train(
    model: nn.Module,
    input_ids: Tensor,
    labels: Tensor,
    epochs: int = 50,
    lr_max: float = 1e-3,
    weight_decay: float = 0.01,
    label_smoothing: float = 0.1,
) -> list[float]:
    """Train on all sentences at once, a step an epoch; the model is left in eval mode.

    Label smoothing (Szegedy et al. 2016, 7): the target is 1 - ε + ε/C on the class and ε/C on
    each other, so no loss goes below the entropy of that target.

    Args:
        model: maps int64 (B, T) to logits (B, C).
        input_ids: int64 (B, T)
        labels: int64 (B,), 0 to C - 1.
        epochs: passes over the data; a tenth of them warm up.
        lr_max: the greatest learning rate.
        weight_decay: λ of the weight matrices.
        label_smoothing: ε.

    Returns:
        The loss of each epoch, before its step.
    """
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    losses = []
    model.train()
    for epoch in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(epoch, epochs // 10, epochs, lr_max)
        loss = F.cross_entropy(model(input_ids), labels, label_smoothing=label_smoothing)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    return losses
