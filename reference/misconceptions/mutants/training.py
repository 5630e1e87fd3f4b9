"""Wrong parameter groups, schedules, losses and training loops."""

from functools import partial

from reference.misconceptions.mutants.places import ENCODER
from reference.misconceptions.mutants.source import Change, Mutant

at = partial(Change, "training")

NAMED = at("list(model.parameters())", "list(model.named_parameters())")
NONE = '"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0'
DECAYED = '"params": [p for p in parameters if p.ndim >= 2], "weight_decay": weight_decay'
OPTIMIZER = "torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)"
WARMUP = "    if step < warmup_steps:\n        return lr_max * step / warmup_steps\n"
RISE = "lr_max * step / warmup_steps"
FALL = "lr_max * 0.5 * (1 + math.cos(math.pi * progress))"
PROGRESS = "(step - warmup_steps) / (total_steps - warmup_steps)"
LOSS = "        loss = F.cross_entropy(model(input_ids), labels, label_smoothing=label_smoothing)\n"
LOGITS = "        logits = model(input_ids)\n"
TARGET = "        target = torch.zeros_like(logits).scatter(1, labels[:, None], 1.0)\n"
CLASSES = "logits.shape[1]"


def _groups(decayed: str, rest: str) -> tuple[Change, ...]:
    """Groups that are told by the parameters' names."""
    return (
        NAMED,
        at("p for p in parameters if p.ndim >= 2", f"p for n, p in parameters if {decayed}"),
        at("p for p in parameters if p.ndim < 2", f"p for n, p in parameters if {rest}"),
    )


def _smoothed(target: str) -> tuple[Change, ...]:
    """A loss whose smoothed target is made by hand."""
    loss = f"        loss = F.cross_entropy(logits, {target})\n"
    return (at(LOSS, f"{LOGITS}{TARGET}{loss}"),)


GROUPS = (
    Mutant("decay-on-all", ENCODER, (at('"weight_decay": 0.0', '"weight_decay": weight_decay'),)),
    Mutant(
        "decay-on-all/one-group",
        ENCODER,
        (
            at(DECAYED, '"params": parameters, "weight_decay": weight_decay'),
            at(f"        {{{NONE}}},\n", ""),
        ),
    ),
    Mutant(
        "decay-inverted",
        ENCODER,
        (at("p.ndim >= 2", "p.ndim < 2"), at("p.ndim < 2", "p.ndim >= 2")),
    ),
    Mutant("decay-none", ENCODER, (at('"weight_decay": weight_decay', '"weight_decay": 0.0'),)),
    Mutant("decay-on-some", ENCODER, _groups('"bias" not in n', '"bias" in n')),
    Mutant("decay-on-some/biases", ENCODER, _groups('"norm" not in n', '"norm" in n')),
    Mutant(
        "decay-on-some/head",
        ENCODER,
        _groups('p.ndim > 1 and "head" not in n', 'p.ndim < 2 or "head" in n'),
    ),
    Mutant("parameters-left-out", ENCODER, (at(f"        {{{NONE}}},\n", ""),)),
    Mutant("parameters-left-out/biases", ENCODER, _groups("p.ndim >= 2", '"norm" in n')),
    Mutant(
        "parameters-left-out/repeated",
        ENCODER,
        (at(NONE, '"params": parameters, "weight_decay": 0.0'),),
    ),
    Mutant(
        "argument-ignored/weight-decay",
        ENCODER,
        (at('"weight_decay": weight_decay', '"weight_decay": 0.01'),),
    ),
)

SCHEDULES = (
    Mutant("schedule-no-warmup", ENCODER, (at(RISE, "lr_max"),)),
    Mutant(
        "schedule-no-warmup/cosine", ENCODER, (at(WARMUP, ""), at(PROGRESS, "step / total_steps"))
    ),
    Mutant("schedule-off-by-one", ENCODER, (at(RISE, "lr_max * (step + 1) / warmup_steps"),)),
    Mutant("schedule-off-by-one/all", ENCODER, (at(WARMUP, f"    step += 1\n{WARMUP}"),)),
    Mutant(
        "schedule-off-by-one/before",
        ENCODER,
        (at(RISE, "lr_max * step / (warmup_steps - 1 or 1)"),),
    ),
    Mutant("schedule-not-to-zero", ENCODER, (at(FALL, f"max({FALL}, 0.1 * lr_max)"),)),
    Mutant(
        "schedule-not-to-zero/raised",
        ENCODER,
        (at(FALL, "lr_max * (0.55 + 0.45 * math.cos(math.pi * progress))"),),
    ),
    Mutant("schedule-not-to-zero/constant", ENCODER, (at(FALL, "lr_max"),)),
    Mutant("schedule-linear-decay", ENCODER, (at(FALL, "lr_max * (1 - progress)"),)),
    Mutant("schedule-restarts", ENCODER, (at("math.pi * progress", "2 * math.pi * progress"),)),
    Mutant(
        "schedule-restarts/thrice",
        ENCODER,
        (at("math.pi * progress", "math.pi * (3 * progress % 1)"),),
    ),
    Mutant("schedule-cosine-unshifted", ENCODER, (at(PROGRESS, "step / total_steps"),)),
    Mutant(
        "schedule-cosine-unshifted/end",
        ENCODER,
        (at(PROGRESS, "(step - warmup_steps) / total_steps"),),
    ),
)

LOSSES = (
    Mutant(
        "smoothing-missing",
        ENCODER,
        (at(", labels, label_smoothing=label_smoothing)", ", labels)"),),
    ),
    Mutant(
        "argument-ignored/smoothing",
        ENCODER,
        (at(", labels, label_smoothing=label_smoothing)", ", labels, label_smoothing=0.1)"),),
    ),
    Mutant(
        "smoothing-over-others",
        ENCODER,
        _smoothed(
            f"target * (1 - label_smoothing) + (1 - target) * label_smoothing / ({CLASSES} - 1)"
        ),
    ),
    Mutant("smoothing-adds", ENCODER, _smoothed(f"target + label_smoothing / {CLASSES}")),
)

LOOPS = (
    Mutant("adam-l2", ENCODER, (at(OPTIMIZER, OPTIMIZER.replace("AdamW", "Adam")),)),
    Mutant(
        "adam-l2/argument",
        ENCODER,
        (
            at(
                OPTIMIZER,
                "torch.optim.Adam(model.parameters(), lr=lr_max, weight_decay=weight_decay)",
            ),
        ),
    ),
    Mutant("train-no-zero-grad", ENCODER, (at("        optimizer.zero_grad()\n", ""),)),
    Mutant("train-no-step", ENCODER, (at("        optimizer.step()\n", ""),)),
    Mutant("train-eval-mode", ENCODER, (at("    model.train()\n", "    model.eval()\n"),)),
    Mutant(
        "train-one-epoch", ENCODER, (at("for epoch in range(epochs):", "for epoch in range(1):"),)
    ),
)

TRAININGS = (*GROUPS, *SCHEDULES, *LOSSES, *LOOPS)
