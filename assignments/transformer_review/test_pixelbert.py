"""Milestone 6: PixelBERT on the digits: patches, [CLS], learned positions, a block, a head."""

import itertools
import math

import pytest
import torch

from grader.checks import assert_close, built, same_inputs, show
from grader.checks.blocks import assert_heads_matter
from grader.checks.classifier import logits, may_be_cls
from grader.checks.layer import assert_gradients_everywhere
from grader.checks.pixelbert import (
    CLASSES,
    WIDTH,
    positions,
    random_model,
    runs_permuted,
    squares_permuted,
    steps,
    with_equal_positions,
    without_exchange,
)
from grader.checks.raised import raises_unlike
from grader.errors import CheckFailure


def images(draw, count):
    """Images with pixels of 0 to 1."""
    return draw.normal(count, 8, 8).abs().clamp(max=2) / 2


@pytest.mark.parametrize(("patch_size", "batch"), [(2, 3), (4, 2), (1, 1), (8, 2)])
def test_pixelbert_logits(student, draw, patch_size, batch):
    """The logits are (B, C), for patches of any size that divides 8, and no probabilities."""
    model = random_model(student.PixelBERT, draw, patch_size=patch_size)
    x = images(draw, batch)

    def lesson():
        """The lesson's sizes, with as many images."""
        return logits(student.PixelBERT(), x, classes=10)

    with raises_unlike("hard-coded-figures", lesson):
        output = logits(model, x, CLASSES)
    if not bool(torch.isfinite(output).all()):
        raise CheckFailure("The logits are not finite.", "finite values", show(output))
    sums = {"softmax": output.sum(1) - 1, "log-softmax": output.logsumexp(1)}
    for kind, off in sums.items():
        if float(off.abs().max()) < 1e-3:
            raise CheckFailure(
                f"The model returns probabilities ({kind}); cross-entropy takes logits.",
                "logits, of any sum",
                show(output[0]),
                misconception="probabilities-returned",
            )


def test_pixelbert_defaults(student, draw):
    """Without arguments it is made for 10 classes, 2 × 2 patches, d_model 32."""
    model = student.PixelBERT()
    given = built(student.PixelBERT, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64)
    logits(model, images(draw, 2), classes=10)
    counts = [sum(p.value.numel() for p in m.parameters().values()) for m in (model, given)]
    if counts[0] != counts[1]:
        raise CheckFailure(
            "The defaults are not those of the assignment.",
            f"{counts[1]:,} parameters, as for PixelBERT(10, 2, 32, 4, 64)",
            f"{counts[0]:,} parameters",
            "PixelBERT()",
        )


@pytest.mark.parametrize("patch_size", [4, 1])
def test_pixelbert_learns_positions(student, draw, note, patch_size):
    """There is a position for each patch: 4 of 4 × 4 pixels, 64 of one pixel."""
    model = random_model(student.PixelBERT, draw, patch_size=patch_size)
    try:
        positions(model, patch_size)
    except CheckFailure:
        x = images(draw, 2)
        moved = squares_permuted(x, draw.permutation(4))
        if torch.allclose(logits(model, moved, CLASSES), logits(model, x, CLASSES), atol=1e-5):
            raise
        if patch_size == 4:
            note("PixelBERT's positions are fixed; the lesson learns them. That costs nothing.")


def test_pixelbert_order_matters(student, draw):
    """The same patches in another order give other logits."""
    model = random_model(student.PixelBERT, draw)
    x = images(draw, 2)
    moved = squares_permuted(x, draw.permutation(4))
    if torch.allclose(logits(model, moved, CLASSES), logits(model, x, CLASSES), atol=1e-5):
        raise CheckFailure(
            "The patches in another order give the same logits: positions are not added.",
            "other logits",
            "the same logits",
            misconception="pe-missing",
        )


def test_pixelbert_patches_are_squares(student, draw):
    """Patches are squares of pixels: with equal positions their order does not matter."""
    shapes = [
        [tuple(p.value.shape) for p in built(student.PixelBERT, patch_size=n).parameters().values()]
        for n in (2, 4)
    ]
    if shapes[0] == shapes[1]:
        raise CheckFailure(
            "patch_size has no effect on the model.",
            "weights for 4 pixels of a patch, or for 16",
            "the same parameters for patch_size = 2 and 4",
            misconception="argument-ignored",
        )
    model = random_model(student.PixelBERT, draw)
    with_equal_positions(model, draw)
    x, order = images(draw, 2), torch.tensor([1, 2, 3, 0])
    before = logits(model, x, CLASSES)
    after = logits(model, squares_permuted(x, order), CLASSES)
    if torch.allclose(after, before, rtol=1e-3, atol=1e-4):
        return
    runs = logits(model, runs_permuted(x, order), CLASSES)
    by_rows = torch.allclose(runs, before, rtol=1e-3, atol=1e-4)
    raise CheckFailure(
        "With the same position for every patch, 4 × 4 squares in another order change the logits: "
        + ("patches are sixteen pixels, row by row." if by_rows else "patches are no squares."),
        show(before[0]),
        show(after[0]),
        "two images, patch_size = 4",
        "patches-by-reshape" if by_rows else None,
    )


def test_pixelbert_reads_every_pixel(student, draw):
    """Each of the 64 pixels changes the logits."""
    model = random_model(student.PixelBERT, draw)
    base = images(draw, 1)
    changed = base.repeat(64, 1, 1)
    for pixel in range(64):
        changed[pixel, pixel // 8, pixel % 8] += 1.5
    far = (logits(model, changed, CLASSES) - logits(model, base, CLASSES)).abs().amax(1)
    blind = (far < 1e-6).nonzero().flatten().tolist()
    if blind:
        raise CheckFailure(
            f"{len(blind)} of 64 pixels do not change the logits, the first in row "
            f"{blind[0] // 8}, column {blind[0] % 8}.",
            "logits that depend on every pixel",
            "the same logits",
        )


def test_pixelbert_pools_cls(student, draw):
    """The logits are read from [CLS] at position 0, not from the patches themselves."""
    model = random_model(student.PixelBERT, draw)
    without_exchange(model, draw)
    x = images(draw, 1)
    before = logits(model, x, CLASSES)[0]

    def change(*corners):
        """What changes when the patches at these corners are other ones."""
        other = x.clone()
        for row, column in corners:
            other[0, row : row + 4, column : column + 4] = (
                1 - other[0, row : row + 4, column : column + 4]
            )
        return logits(model, other, CLASSES)[0] - before

    first, inner, last = change((0, 0)), change((0, 4)), change((4, 4))
    moved = [bool(by.abs().max() > 1e-4) for by in (first, inner, last)]
    if any(moved):
        alone = {(0, 0): first, (0, 4): inner, (4, 4): last}
        both = all(
            torch.allclose(change(a, b), alone[a] + alone[b], atol=1e-4)
            for a, b in itertools.combinations(alone, 2)
        )
        kinds = {
            (True, False, False): "cls-missing",
            (False, False, True): "pool-last",
            (True, True, True): "pool-mean" if both else "pool-max",
        }
        heads = [p.value.shape for p in model.parameters().values() if CLASSES in p.value.shape]
        if any(size > WIDTH and size % WIDTH == 0 for shape in heads for size in shape):
            kinds[True, True, True] = "pool-flatten"
        raise CheckFailure(
            "The logits are not read from [CLS] alone: with the block's matrices at 0, the pixels "
            "still change them.",
            "the same logits for every image",
            show(before),
            misconception=kinds.get(tuple(moved)),
        )


def test_pixelbert_cls_is_learned(student, draw):
    """[CLS] is a parameter, has an embedding, or at least a learned position."""
    model = random_model(student.PixelBERT, draw)
    values = {name: p.value for name, p in model.parameters().items() if p.requires_grad}
    probe = draw.normal(2, CLASSES)
    gradients = model.call(images(draw, 2), probe=probe).parameter_gradients or {}
    reached = [
        int((gradient.reshape(-1, WIDTH) != 0).any(1).sum())
        for name, gradient in gradients.items()
        if gradient is not None and name in values and gradient.shape[-1:] == (WIDTH,)
    ]
    if 5 not in reached and not any(may_be_cls(n, values, WIDTH, ()) for n in values):
        raise CheckFailure(
            "[CLS] is no parameter, and it has no learned position.",
            f"a parameter of {WIDTH} elements, such as (1, 1, {WIDTH})",
            ", ".join(f"{n} {tuple(v.shape)}" for n, v in list(values.items())[:8]),
            misconception="cls-not-learned",
        )


def test_pixelbert_heads_matter(student, draw):
    """n_heads has an effect."""
    sizes = {"n_classes": CLASSES, "patch_size": 4, "d_model": WIDTH, "d_ff": 10}
    x, define = images(draw, 2), student.PixelBERT
    assert_heads_matter(define, draw, sizes, (3, 1), lambda model: logits(model, x, CLASSES))


def test_pixelbert_samples_are_independent(student, draw):
    """An image gives the same logits alone and in a batch, and stays as it was."""
    model = random_model(student.PixelBERT, draw)
    x = images(draw, 3)
    together = logits(model, x, CLASSES)
    for b in range(3):
        what = f"The logits of image {b} in the batch, beside the same image alone,"
        alone = logits(model, x[b : b + 1], CLASSES)[0]
        assert_close(together[b], alone, what, atol=1e-4, misconception="batch-mixed")
    result = model.call(x, echo=True)
    same_inputs(result.inputs, [x], ["images"])


def test_pixelbert_gradients(student, draw):
    """The gradient of the logits reaches every parameter, [CLS] and positions included."""
    model = random_model(student.PixelBERT, draw)
    assert_gradients_everywhere(model, (images(draw, 3),), draw.normal(3, CLASSES), WIDTH)


def test_pixelbert_first_loss(student, reference, note):
    """On 80 digits the loss of a new model is near ln 10: chance."""
    digits, labels = reference.load_digits()
    chance, losses = math.log(10), []
    for _ in range(4):
        output = logits(student.PixelBERT(), digits, classes=10)
        losses.append(torch.nn.functional.cross_entropy(output, labels).item())
        if abs(losses[-1] - chance) < 0.3:
            return
    shown = ", ".join(f"{loss:.4f}" for loss in losses)
    if chance < min(losses) < chance + 1:
        note(
            f"New PixelBERTs start with losses of {shown}; with smaller weights it is {chance:.4f}."
        )
        return
    raise CheckFailure(
        "The loss of a new model is far from chance.",
        f"{chance:.4f} ± 0.3 = ln 10",
        shown,
        "80 digits, pixels from 0 to 1",
    )


def test_pixelbert_learns(student, reference):
    """Five full-batch steps on 80 digits end with a lower loss than they began."""
    digits, labels = reference.load_digits()
    losses = steps(student.PixelBERT(), digits, labels, 5, 1e-3)
    if not losses[-1] < losses[0]:
        raise CheckFailure(
            "Five steps do not lower the loss.",
            f"less than {losses[0]:.4f}",
            ", ".join(f"{loss:.4f}" for loss in losses),
            "80 digits, AdamW, lr = 1e-3",
        )
