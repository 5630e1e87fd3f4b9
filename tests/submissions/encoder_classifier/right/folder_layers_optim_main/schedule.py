from math import cos, pi


class WarmupCosine:
    def __call__(self, step, warmup_steps, total_steps, lr_max):
        if step < warmup_steps:
            return lr_max * step / warmup_steps
        return lr_max * (1 + cos(pi * (step - warmup_steps) / (total_steps - warmup_steps))) / 2


warmup_cosine = WarmupCosine()


def set_lr(optimizer, value):
    for g in optimizer.param_groups:
        g["lr"] = value
