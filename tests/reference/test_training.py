"""Groups, schedule, loss and loop against closed formulas."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F
from torch.optim.optimizer import register_optimizer_step_pre_hook

from reference import TransformerEncoderClassifier, parameter_groups, train, warmup_cosine
from reference.misconceptions.schedule import SCHEDULE_MUTANTS
from tests.reference.copying import randomise


def smoothed_loss(logits, labels, epsilon):
    """-Σ target · log p, by loops, with (1 - ε) + ε/K on the class and ε/K elsewhere."""
    losses = []
    for row, label in zip(logits.tolist(), labels.tolist(), strict=True):
        log_sum = math.log(sum(math.exp(z) for z in row))
        target = [epsilon / len(row) + (1 - epsilon) * (k == label) for k in range(len(row))]
        losses.append(sum(t * (log_sum - z) for t, z in zip(target, row, strict=True)))
    return sum(losses) / len(losses)


def floor(n_classes, epsilon):
    """The entropy of the smoothed target: no loss is lower."""
    target = [1 - epsilon + epsilon / n_classes] + [epsilon / n_classes] * (n_classes - 1)
    return -sum(t * math.log(t) for t in target)


def first_token_task(n_classes=3):
    """A model and sentences whose class is a function of the first token."""
    torch.manual_seed(0)
    ids = torch.randint(1, 13, (64, 6))
    model = TransformerEncoderClassifier(13, n_classes)
    return model, ids, ids[:, 0] % n_classes


@settings(deadline=None, derandomize=True, max_examples=50)
@given(
    batch=st.integers(1, 5), n_classes=st.integers(2, 10), epsilon=st.floats(0.0, 0.5),
    seed=st.integers(0, 2**31),
)  # fmt: skip
def test_pytorchs_smoothed_loss_is_the_closed_formula(batch, n_classes, epsilon, seed):
    random = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(batch, n_classes, generator=random)
    labels = torch.randint(n_classes, (batch,), generator=random)
    loss = F.cross_entropy(logits, labels, label_smoothing=epsilon)
    assert loss.item() == pytest.approx(smoothed_loss(logits, labels, epsilon), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.3])
def test_the_first_loss_of_training_is_the_smoothed_loss_of_the_untrained_model(epsilon):
    model, ids, labels = first_token_task()
    with torch.no_grad():
        expected = smoothed_loss(model(ids), labels, epsilon)
    losses = train(model, ids, labels, epochs=1, label_smoothing=epsilon)
    assert losses == pytest.approx([expected], rel=1e-5)


def test_fifty_epochs_halve_the_loss_and_never_go_under_the_floor():
    model, ids, labels = first_token_task()
    losses = train(model, ids, labels, lr_max=5e-3)
    assert len(losses) == 50
    assert losses[-1] < losses[0] / 2
    assert min(losses) >= floor(3, 0.1)
    assert (model(ids).argmax(dim=1) == labels).float().mean() > 0.9


def test_without_smoothing_the_loss_goes_under_the_floor():
    model, ids, labels = first_token_task()
    assert min(train(model, ids, labels, lr_max=5e-3, label_smoothing=0.0)) < floor(3, 0.1)


def test_training_runs_in_train_mode_and_leaves_the_model_in_eval_mode():
    model, ids, labels = first_token_task()
    modes = []
    model.register_forward_hook(lambda module, *_: modes.append(module.training))
    train(model.eval(), ids, labels, epochs=3)
    assert modes == [True, True, True]
    assert not any(module.training for module in model.modules())


def test_training_uses_adamw_over_the_groups_and_the_schedule_over_all_steps():
    model, ids, labels = first_token_task()
    steps = []
    hook = register_optimizer_step_pre_hook(
        lambda optimizer, *_: steps.append(
            (type(optimizer), [(g["lr"], g["weight_decay"]) for g in optimizer.param_groups])
        )
    )
    try:
        train(model, ids, labels, epochs=20, lr_max=1e-3, weight_decay=0.05)
    finally:
        hook.remove()
    rates = [0.0, 5e-4] + [1e-3 * math.cos(math.pi / 2 * k / 18) ** 2 for k in range(18)]
    assert [kind for kind, _ in steps] == [torch.optim.AdamW] * 20
    for (_, groups), rate in zip(steps, rates, strict=True):
        assert groups == [(pytest.approx(rate), 0.05), (pytest.approx(rate), 0.0)]


def test_each_parameter_is_in_exactly_one_group():
    model, *_ = first_token_task()
    grouped = [id(p) for group in parameter_groups(model, 0.01) for p in group["params"]]
    assert sorted(grouped) == sorted(id(p) for p in model.parameters())


def test_weight_matrices_decay_and_biases_and_norms_do_not():
    model, *_ = first_token_task()
    decay = {
        id(p): group["weight_decay"]
        for group in parameter_groups(model, 0.01)
        for p in group["params"]
    }
    linears = [module for module in model.modules() if isinstance(module, nn.Linear)]
    norms = [module for module in model.modules() if isinstance(module, nn.LayerNorm)]
    assert len(linears) == 2 * 6 + 1
    assert len(norms) == 2 * 2
    assert {decay[id(linear.weight)] for linear in linears} == {0.01}
    assert {decay[id(linear.bias)] for linear in linears if linear.bias is not None} == {0.0}
    assert {decay[id(p)] for norm in norms for p in norm.parameters()} == {0.0}


def test_the_first_step_of_adamw_is_the_closed_formula_of_decoupled_decay():
    rate, decay = 0.01, 0.3
    model, ids, labels = first_token_task()
    randomise(model)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = torch.optim.AdamW(parameter_groups(model, decay), lr=rate)
    F.cross_entropy(model(ids), labels).backward()
    optimizer.step()
    for name, p in model.named_parameters():
        shrink = rate * decay if p.ndim == 2 else 0.0
        update = p.grad / (p.grad.abs() + 1e-8)  # both moments are corrected to g and g²
        expected = before[name] - rate * update - shrink * before[name]
        torch.testing.assert_close(p.detach(), expected, rtol=1e-5, atol=1e-6, msg=name)


schedules = st.integers(2, 500).flatmap(
    lambda total: st.tuples(st.integers(1, total - 1), st.just(total))
)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(schedule=schedules, lr_max=st.floats(1e-5, 1.0), share=st.floats(0, 1))
def test_the_rate_is_a_line_and_then_a_squared_cosine(schedule, lr_max, share):
    warmup, total = schedule
    step = round(share * total)
    rate = warmup_cosine(step, warmup, total, lr_max)
    if step <= warmup:
        expected = step / warmup * lr_max
    else:
        expected = math.cos(math.pi / 2 * (step - warmup) / (total - warmup)) ** 2 * lr_max
    assert rate == pytest.approx(expected, abs=1e-12)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(schedule=schedules)
def test_the_rate_rises_to_the_end_of_the_warmup_and_falls_to_zero(schedule):
    warmup, total = schedule
    rates = [warmup_cosine(step, warmup, total, 1.0) for step in range(total + 1)]
    assert rates[0] == 0.0
    assert rates[warmup] == 1.0
    assert rates[total] == pytest.approx(0.0, abs=1e-12)
    assert rates[: warmup + 1] == sorted(rates[: warmup + 1])
    assert rates[warmup:] == sorted(rates[warmup:], reverse=True)


@pytest.mark.parametrize("name", SCHEDULE_MUTANTS)
def test_a_wrong_schedule_differs_from_the_right_one_at_some_step(name):
    right = [warmup_cosine(step, 10, 100, 1.0) for step in range(101)]
    for mutant in SCHEDULE_MUTANTS[name]:
        wrong = [mutant(step, 10, 100, 1.0) for step in range(101)]
        assert max(abs(a - b) for a, b in zip(wrong, right, strict=True)) > 1e-3
