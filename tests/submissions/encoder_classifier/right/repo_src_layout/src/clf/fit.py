import math
import torch
from torch import nn

NO_DECAY = ("bias", "post.weight", "cls_vector")


def parameter_groups(model, weight_decay):
    named = sorted(model.named_parameters(), key=lambda item: item[0])
    return [
        {"params": [p for n, p in named if n.endswith(NO_DECAY)], "weight_decay": 0.0, "tag": "no decay"},
        {"params": [p for n, p in named if not n.endswith(NO_DECAY)], "weight_decay": weight_decay, "tag": "decay"},
    ]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return lr_max * (1 - (warmup_steps - step) / warmup_steps)
    return lr_max * math.cos(0.5 * math.pi * (step - warmup_steps) / (total_steps - warmup_steps)) ** 2


class Schedule(torch.optim.lr_scheduler.LRScheduler):
    def __init__(self, optimizer, warmup, total, lr_max):
        self.args = (warmup, total, lr_max)
        super().__init__(optimizer)

    def get_lr(self):
        return [warmup_cosine(self.last_epoch, *self.args) for _ in self.optimizer.param_groups]


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    size = 16
    data = list(zip(input_ids.split(size), labels.split(size)))
    total = epochs * len(data)
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    schedule = Schedule(optimizer, max(1, total // 10), total + 1, lr_max)
    losses = []
    for _ in range(epochs):
        model.train()
        seen = total_loss = 0
        for x, y in data:
            loss = nn.functional.cross_entropy(model(x), y, label_smoothing=label_smoothing)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total_loss, seen = total_loss + loss.item() * len(y), seen + len(y)
        losses.append(total_loss / seen)
    return losses
