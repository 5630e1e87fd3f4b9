import torch


def parameter_groups(model, weight_decay):
    return [
        {"params": [p for p in model.parameters() if p.requires_grad and p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in model.parameters() if p.requires_grad and p.ndim < 2], "weight_decay": 0.0},
    ]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return lr_max * step / warmup_steps
    t = torch.tensor((step - warmup_steps) / max(1, total_steps - warmup_steps), dtype=torch.float64)
    return (lr_max * 0.5 * (1 + torch.cos(torch.pi * t))).item()
