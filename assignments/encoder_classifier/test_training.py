"""Milestone 3: parameter groups, learning rate schedule and training."""

import math

import pytest
import torch
from torch.nn import functional as F

from grader.checks import means
from grader.checks.blocks import random_values
from grader.checks.classifier import (
    classifier,
    decay_roles,
    logits,
    random_classifier,
    sentences,
)
from grader.checks.tensors import kind_text
from grader.checks.training import (
    group_decays,
    learning_rate,
    losses_text,
    rates_of,
    rates_text,
    read_losses,
    smoothed_floor,
    train,
    training_losses,
)
from grader.errors import CheckFailure
from reference import warmup_cosine
from reference.misconceptions.schedule import SCHEDULE_MUTANTS

FEW = 20  # epochs, where nothing is to be learnt
VOCAB, CLASSES = 12, 3
SMALL = {"vocab_size": VOCAB, "n_classes": CLASSES, "d_model": 16, "n_heads": 4, "d_ff": 24}


def learnable():
    """24 sentences of five tokens; the label is the first token modulo 3."""
    random = torch.Generator().manual_seed(84)
    ids = torch.randint(1, VOCAB, (24, 5), generator=random)
    ids[:, 0] = 1 + torch.arange(24) % 11
    return ids, ids[:, 0] % CLASSES


# parameter groups


def decays(student, draw, weight_decay):
    """The model's matrices and vectors, and the decay of each parameter's groups."""
    model, matrices, vectors = decay_roles(student.TransformerEncoderClassifier)
    model.set_parameters(random_values(model, draw))
    return group_decays(student.parameter_groups, model, weight_decay), matrices, vectors


def test_groups_hold_every_parameter_once(student, draw):
    """Every parameter is in exactly one group."""
    found, _, _ = decays(student, draw, 0.3)
    for name, groups in found.items():
        if len(groups) != 1:
            raise CheckFailure(
                f"The parameter `{name}` is in {len(groups)} groups.",
                "every parameter in exactly one group",
                f"{sum(len(g) != 1 for g in found.values())} of {len(found)} are not",
                misconception="parameters-left-out",
            )


def test_groups_decay_matrices_only(student, draw):
    """Weight matrices decay; biases and norm parameters do not."""
    found, matrices, vectors = decays(student, draw, 0.3)
    decayed = {name for name, groups in found.items() if any(groups)}
    # In the order of registration: sets have another order in every process.
    wrong = [name for name in found if name in matrices and name not in decayed]
    wrong += [name for name in found if name in vectors and name in decayed]
    if not wrong:
        return
    misconception = "decay-on-some"
    if not decayed:
        misconception = "decay-none"
    elif decayed >= matrices | vectors:
        misconception = "decay-on-all"
    elif decayed >= vectors and not decayed & matrices:
        misconception = "decay-inverted"
    name = wrong[0]
    raise CheckFailure(
        f"`{name}` is {'' if name in decayed else 'not '}decayed.",
        "decay for weight matrices, none for biases and norm parameters",
        f"decay for {len(decayed & matrices)} of {len(matrices)} matrices and "
        f"{len(decayed & vectors)} of {len(vectors)} biases and norm parameters",
        "weight_decay = 0.3",
        misconception,
    )


@pytest.mark.parametrize("weight_decay", [0.3, 0.02])
def test_groups_pass_weight_decay(student, draw, weight_decay):
    """The decay of the decayed group is the one that was asked for."""
    found, _, _ = decays(student, draw, weight_decay)
    values = {decay for groups in found.values() for decay in groups if decay}
    if any(abs(value - weight_decay) > 1e-9 for value in values) or not values:
        raise CheckFailure(
            "The groups decay by another amount than was asked for.",
            f"{weight_decay} (or 0)",
            ", ".join(str(value) for value in sorted(values)) or "0 everywhere",
            f"parameter_groups(model, {weight_decay})",
            "argument-ignored" if values else "decay-none",
        )


# schedule


def assert_rates(student, steps, warmup, total, lr_max):
    """See that the schedule is the lesson's at these steps."""
    got = {s: learning_rate(student.warmup_cosine, s, warmup, total, lr_max) for s in steps}
    expected = {s: warmup_cosine(s, warmup, total, lr_max) for s in steps}
    wrong = [s for s in steps if abs(got[s] - expected[s]) > 1e-4 * lr_max]
    if not wrong:
        return
    named = [
        name
        for name, mutants in SCHEDULE_MUTANTS.items()
        if any(
            all(abs(got[s] - mutant(s, warmup, total, lr_max)) < 1e-4 * lr_max for s in steps)
            for mutant in mutants
        )
    ]
    step = wrong[0]
    raise CheckFailure(
        f"The learning rate at step {step} is wrong.",
        f"{expected[step]:.4e}",
        f"{got[step]:.4e}",
        f"warmup_cosine({step}, {warmup}, {total}, {lr_max})",
        named[0] if named else None,
    )


def test_schedule_lesson_figures(student):
    """For lr_max 1e-3, warmup 10 and total 100 the rates are the lesson's figures."""
    assert_rates(student, [0, 1, 5, 10, 25, 50, 55, 75, 99, 100], 10, 100, 1e-3)


@pytest.mark.parametrize(("warmup", "total", "lr_max"), [(3, 20, 0.5), (1, 7, 2e-4), (40, 50, 1.0)])
def test_schedule_values(student, warmup, total, lr_max):
    """Every step of other schedules: linear warmup, then a cosine to 0."""
    assert_rates(student, list(range(total + 1)), warmup, total, lr_max)


def test_schedule_is_continuous(student):
    """The rate is lr_max at the end of warmup, without a jump, and 0 at the end."""
    warmup, total, lr_max = 100, 1000, 0.1
    ends = {
        s: learning_rate(student.warmup_cosine, s, warmup, total, lr_max)
        for s in (warmup - 1, warmup, warmup + 1, total)
    }
    jump = max(abs(ends[warmup] - ends[warmup - 1]), abs(ends[warmup + 1] - ends[warmup]))
    if jump > 0.02 * lr_max or abs(ends[warmup] - lr_max) > 0.01 * lr_max:
        raise CheckFailure(
            "The rate jumps at the end of warmup, or is not lr_max there.",
            f"{0.99 * lr_max:.4f}, {lr_max:.4f}, then slowly less",
            ", ".join(f"{ends[s]:.4f}" for s in (warmup - 1, warmup, warmup + 1)),
            f"steps {warmup - 1}, {warmup}, {warmup + 1} of warmup_cosine(step, 100, 1000, 0.1)",
        )
    if abs(ends[total]) > 1e-6:
        raise CheckFailure(
            "The rate does not end at 0.", "0", f"{ends[total]:.6f}",
            "warmup_cosine(1000, 100, 1000, 0.1)", "schedule-not-to-zero",
        )  # fmt: skip


# training


def trained(student):
    """A new small model trained on the learnable data: parameters before, the model, the return."""

    def run():
        model = classifier(student.TransformerEncoderClassifier, **SMALL)
        before = {name: p.value for name, p in model.parameters().items()}
        returned = train(student.train, model, *learnable(), lr_max=5e-3)
        return before, model, returned

    return student.once("trained", run)


def test_train_returns_its_losses(student):
    """train returns a list of 50 numbers, the mean loss of each epoch."""
    _, _, returned = trained(student)
    read_losses(returned)


def test_losses_are_floats(student):
    """The losses are floats, not tensors that hold on to a graph."""
    _, _, returned = trained(student)
    if isinstance(returned, torch.Tensor) or any(isinstance(x, torch.Tensor) for x in returned):
        raise CheckFailure(
            "`train` returns tensors.",
            "a list of 50 floats: loss.item()",
            kind_text(returned),
        )


def test_train_learns(student):
    """In 50 epochs the loss falls, and most labels are right afterwards."""
    ids, labels = learnable()
    _, model, returned = trained(student)
    losses = read_losses(returned)
    end = sum(losses[-5:]) / 5
    if not end < 0.8 * losses[0]:
        raise CheckFailure(
            "The loss hardly falls in 50 epochs.",
            f"less than {0.8 * losses[0]:.4f} in the end",
            losses_text(losses),
            "24 sentences whose label is the first token modulo 3, lr_max = 5e-3",
        )
    model.eval()
    right = int((logits(model, ids, CLASSES).argmax(1) == labels).sum())
    if right < 15:
        raise CheckFailure(
            "After training, the model gets few labels right.",
            "at least 15 of 24 (8 would be chance)",
            f"{right} of 24",
            "24 sentences whose label is the first token modulo 3, lr_max = 5e-3",
        )


def test_train_changes_the_model(student):
    """The model that is handed in is the one that is trained, and it can be used afterwards."""
    before, model, _ = trained(student)
    after = {name: p.value for name, p in model.parameters().items()}
    same = [name for name, value in before.items() if torch.equal(value, after[name])]
    if len(same) > len(before) / 2:
        raise CheckFailure(
            f"Training leaves {len(same)} of {len(before)} parameters as they were.",
            "parameters that have changed",
            ", ".join(f"`{name}`" for name in same[:4]),
            misconception="train-no-step" if len(same) == len(before) else None,
        )
    model.eval()
    output = logits(model, learnable()[0][:2], CLASSES)
    if not bool(torch.isfinite(output).all()):
        raise CheckFailure("After training the logits are not finite.", "finite values")


def one_sentence(student, draw, dropout=0.0):
    """A random model with 16 copies of one sentence, so that every batch has the same loss."""
    sizes = {**SMALL, "n_layers": 1, "dropout": dropout}
    model = random_classifier(student.TransformerEncoderClassifier, draw, **sizes)
    return model, sentences([3, 7, 4, 9]).repeat(16, 1), torch.full((16,), 1)


SMOOTHING = 0.4


def at_rest(student, draw):
    """Training that moves nothing: the logits, the gradient of one step, losses, gradients left."""

    def run():
        model, ids, labels = one_sentence(student, draw)
        output = logits(model, ids[:1], CLASSES)
        leaf = output.clone().requires_grad_(True)
        F.cross_entropy(leaf, labels[:1], label_smoothing=SMOOTHING).backward()
        once = model.call(ids[:1], probe=leaf.grad).parameter_gradients or {}
        losses = training_losses(
            student.train,
            model,
            ids,
            labels,
            lr_max=1e-8,
            epochs=FEW,
            weight_decay=0.0,
            label_smoothing=SMOOTHING,
        )
        return output, once, losses, model.gradients()

    return student.once("at rest", run)


def test_loss_is_label_smoothed(student, draw, note):
    """The losses are those of F.cross_entropy(…, label_smoothing=label_smoothing)."""
    output, _, losses, _ = at_rest(student, draw)
    label = torch.tensor([1])
    expected = F.cross_entropy(output, label, label_smoothing=SMOOTHING).item()
    floor = smoothed_floor(SMOOTHING, CLASSES)
    if abs(losses[0] - expected) < 2e-3:
        return
    if abs(losses[0] - (expected - floor)) < 2e-3:
        note(
            "The training losses are KL divergences from the smoothed target: lower than "
            f"F.cross_entropy's by a constant, the target's entropy ({floor:.4f} for ε = "
            f"{SMOOTHING}). That costs nothing."
        )
        return
    log = output.log_softmax(1)[0]
    own, others = -log[1].item(), -(log.sum() - log[1]).item()
    share = SMOOTHING / CLASSES
    variants = {
        "smoothing-missing": own,
        "smoothing-over-others": own * (1 - SMOOTHING) + SMOOTHING / (CLASSES - 1) * others,
        "smoothing-adds": own * (1 + share) + share * others,
        "argument-ignored": F.cross_entropy(output, label, label_smoothing=0.1).item(),
    }
    named = [name for name, value in variants.items() if abs(losses[0] - value) < 2e-3]
    raise CheckFailure(
        "The first loss is not the label-smoothed cross-entropy of the model's logits.",
        f"{expected:.4f}",
        f"{losses[0]:.4f} (without smoothing it would be {own:.4f})",
        f"label_smoothing = {SMOOTHING}, 16 copies of one sentence, lr_max = 1e-8",
        named[0] if named else None,
    )


def test_losses_stay_above_the_floor(student):
    """No loss goes below the entropy of the smoothed target: 0.868 for ε = 0.5 and 3 classes."""
    model = classifier(student.TransformerEncoderClassifier, **SMALL)
    ids, labels = (found[:8] for found in learnable())  # a batch's worth, learnt by heart
    losses = training_losses(student.train, model, ids, labels, lr_max=5e-3, label_smoothing=0.5)
    floor = smoothed_floor(0.5, CLASSES)
    below = [loss for loss in losses if loss < floor - 1e-3]
    divergence = losses[0] < floor  # starts low: a KL divergence, lower by the floor
    if below and not divergence:
        raise CheckFailure(
            "The loss goes below what a smoothed target allows.",
            f"at least {floor:.4f}",
            f"{min(losses):.4f}",
            "label_smoothing = 0.5, 3 classes",
            "smoothing-missing",
        )
    if divergence and min(losses) < -1e-3:
        raise CheckFailure(
            "A divergence from the smoothed target is never negative.", "at least 0",
            f"{min(losses):.4f}", "label_smoothing = 0.5, 3 classes",
        )  # fmt: skip


LAMBDA, RATE = 200.0, 2e-4  # strong decay at a small rate: what remains tells the rates' sum


def remaining(student, draw):
    """How much of the weight matrices is left after 50 epochs of strong decay on one sentence.

    One sentence is one step an epoch, whatever the batch size. AdamW multiplies a matrix by 1 - ηλ
    in each step; the schedule's rates add up to half of 50 · lr_max, however long the warmup is.
    """

    def run():
        define = student.TransformerEncoderClassifier
        _, matrices, _ = decay_roles(define)
        model = random_classifier(define, draw, n_layers=1)
        values = {name: p.value for name, p in model.parameters().items()}
        before = {name: 5 * value for name, value in values.items() if name in matrices}
        model.set_parameters(before)
        ids, labels = sentences([3, 7, 4, 9]), torch.tensor([1])
        training_losses(student.train, model, ids, labels, lr_max=RATE, weight_decay=LAMBDA)
        after = {name: p.value for name, p in model.parameters().items()}
        kept = [(after[name].norm() / before[name].norm()).item() for name in before]
        return sum(kept) / len(kept)

    return student.once("strong decay", run)


COPIES, DECAY, SIZE = 20, 20.0, 20.0  # of a sentence; of the matrices, which are this much larger


def rates(student, draw):
    """The learning rate of each step, while a model is trained on copies of a sentence.

    None where the model's calls cannot be seen, as in a training that calls `forward` itself.
    """

    def run():
        define = student.TransformerEncoderClassifier
        _, matrices, _ = decay_roles(define)
        model = random_classifier(define, draw, n_layers=1)
        values = {name: p.value for name, p in model.parameters().items()}
        large = {name: SIZE * value for name, value in values.items() if name in matrices}
        model.set_parameters(large)
        meter = max(large, key=lambda name: large[name].numel())
        model.watch(meter)
        ids, labels = sentences([3, 7, 4, 9]).repeat(COPIES, 1), torch.ones(COPIES).long()
        training_losses(student.train, model, ids, labels, lr_max=RATE, weight_decay=DECAY)
        norms = [*model.watched(), model.parameters()[meter].value.norm().item()]
        return rates_of(norms, DECAY, RATE) if len(norms) > 50 else None

    return student.once("rates", run)


def test_train_uses_adamw(student, draw):
    """A large weight_decay shrinks the matrices: AdamW does that, Adam with L2 does not."""
    seen = rates(student, draw)
    if seen is not None:
        decays, got = max(seen.steps) > 0.5, rates_text(seen)
    else:
        kept = remaining(student, draw)
        decays, got = kept < 0.8, f"{kept:.2f} of their size is left after 50 steps"
    if not decays:
        raise CheckFailure(
            "The weight matrices hardly shrink under a large weight decay: it is not AdamW's, or "
            "weight_decay is not handed through.",
            "η·λ of their size in each step",
            got,
            f"weight_decay = {DECAY:g}, lr_max = {RATE:g}, {COPIES} copies of one sentence",
            "adam-l2",
        )


def test_train_follows_the_schedule(student, draw):
    """The learning rate of the steps rises once to lr_max and falls to 0 at the end."""
    seen = rates(student, draw)
    if seen is None:
        kept = remaining(student, draw)
        mean = -math.log(max(kept, 1e-9)) / (LAMBDA * RATE * 50)
        faults = {None: not 0.35 < mean < 0.7}
        got = f"{mean:.2f} of lr_max on average, as the decay of the weights shows"
    else:
        faults = {
            # One that begins anew in each short epoch need not rise again: it stays halfway up.
            "schedule-restarts": seen.rise > 0.15 or (seen.end > 0.25 and max(seen.steps) < 0.8),
            "schedule-not-to-zero": seen.end > 0.25,
            None: not 0.3 < seen.mean < 0.75 or not 0.8 < max(seen.steps) < 1.2,
        }
        got = rates_text(seen)
    for misconception, fault in faults.items():
        if fault:
            raise CheckFailure(
                "The learning rates of the training are not those of warmup_cosine over all its "
                "steps.",
                "rates that rise to lr_max and fall to 0 over all steps, half of lr_max on average",
                got,
                f"{COPIES} copies of one sentence, 50 epochs",
                misconception,
            )


def test_train_clears_gradients(student, draw):
    """Gradients are cleared before each step."""
    _, once, _, left = at_rest(student, draw)
    ratios = [
        float(left[name].norm() / gradient.norm())
        for name, gradient in once.items()
        if gradient is not None and left.get(name) is not None and float(gradient.norm()) > 1e-4
    ]
    if ratios and sorted(ratios)[len(ratios) // 2] > 10:
        raise CheckFailure(
            "Gradients add up from step to step.",
            "the gradient of one step",
            f"{sorted(ratios)[len(ratios) // 2]:.0f} times that after {FEW} epochs",
            misconception="train-no-zero-grad",
        )


def test_train_in_train_mode(student, draw):
    """Training runs in train mode, so dropout acts."""
    model, ids, labels = one_sentence(student, draw, dropout=0.5)
    model.eval()
    with means("train-eval-mode"):
        losses = training_losses(
            student.train, model, ids, labels, epochs=FEW, lr_max=1e-8, weight_decay=0.0
        )
        if max(losses[2:]) - min(losses[2:]) < 1e-4:
            raise CheckFailure(
                "With dropout=0.5 every epoch has the same loss: the model trains in eval mode.",
                "losses that differ from epoch to epoch",
                losses_text(losses),
                "dropout = 0.5, 16 copies of one sentence, lr_max = 1e-8",
            )
