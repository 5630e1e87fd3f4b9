"""Every figure of the two lessons, recomputed. `pytest -v` on this file reads as their table."""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

import reference as ref
from tests.reference.copying import count

EXACT, FOUR_DECIMALS = 0.0, 5.1e-5


@dataclass(frozen=True)
class Figure:
    """One figure of a lesson: where it stands, how the reference gets it, what the lesson says."""

    lesson: int
    name: str
    recompute: Callable[[], object]
    value: object
    tolerance: float = EXACT

    def __str__(self) -> str:
        style = {int: ",", float: ".5g"}.get(type(self.value))
        value = format(self.value, style) if style else str(self.value)
        return f"lesson {self.lesson}: {self.name} = {value}"


def table(lesson, name, recompute, rows, tolerance=EXACT):
    """A figure for each entry of a matrix: the name has {i} for the row and {j} for the column."""
    return [
        Figure(
            lesson,
            name.format(i=i, j=j),
            lambda i=i, j=j: recompute()[i][j].item(),
            value,
            tolerance,
        )
        for i, row in enumerate(rows)
        for j, value in enumerate(row)
    ]


# How each figure is recomputed


@functools.cache
def trace() -> dict[str, Tensor]:
    """The lesson's trace: sequence length 4, d_k 8, seed 42."""
    torch.manual_seed(42)
    query, key, value = (torch.randn(4, 8) for _ in range(3))
    output, weights = ref.scaled_dot_product_attention(query, key, value)
    return {"scores": query @ key.T, "weights": weights, "output": output}


def scale(d_k: int) -> float:
    """What the attention multiplies a score of 1 with: log of the ratio of two weights."""
    one_hot = torch.zeros(1, d_k)
    one_hot[0, 0] = 1.0
    keys = torch.cat([one_hot, torch.zeros(1, d_k)])
    _, weights = ref.scaled_dot_product_attention(one_hot, keys, keys)
    return torch.log(weights[0, 0] / weights[0, 1]).item()


def layer_shapes() -> tuple[tuple[int, ...], ...]:
    x = torch.randn(1, 6, 32)
    output, weights = ref.MultiHeadAttention(32, 4)(x, x, x)
    return tuple(output.shape), tuple(weights.shape)


def linears() -> int:
    layer = ref.MultiHeadAttention(32, 4)
    sizes = [(m.in_features, m.out_features) for m in layer.modules() if isinstance(m, nn.Linear)]
    return sizes.count((32, 32))


def attention_flops(n: int, d: int = 16) -> int:
    """Operations of QKᵀ and ·V alone."""
    x = torch.zeros(n, d)
    with FlopCounterMode(display=False) as counter:
        ref.scaled_dot_product_attention(x, x, x)
    return counter.get_total_flops()


def layer_flops(n: int, d: int = 16) -> int:
    """Operations of the whole layer, projections included."""
    layer, x = ref.MultiHeadAttention(d, 1), torch.zeros(1, n, d)
    with FlopCounterMode(display=False) as counter:
        layer(x, x, x)
    return counter.get_total_flops()


def score_entries(n: int) -> int:
    query = torch.zeros(n, 1)
    _, weights = ref.scaled_dot_product_attention(query, query, query)
    return weights.numel()


def mean_matrix() -> Tensor:
    """The matrix that the graph layer multiplies with, for the edges 0-1 and 1-2."""
    return ref.mean_aggregate(torch.eye(3), torch.tensor([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))


@functools.cache
def pixelbert_run() -> dict[str, object]:
    """Losses over the lesson's steps 0 to 5, and accuracy; its hyperparameters are not given."""
    torch.manual_seed(0)
    model = ref.PixelBERT()
    images, labels = ref.load_digits()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    losses = []
    for _ in range(6):
        loss = F.cross_entropy(model(images), labels)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    falls = sum(later < earlier for earlier, later in zip(losses, losses[1:], strict=False))
    return {"first": losses[0], "falls": falls, "images": len(images)}


def loss_of_a_guess() -> float:
    """The loss on the digits when the head answers every class with the same logit."""
    model = ref.PixelBERT()
    nn.init.zeros_(model.head.weight)
    images, labels = ref.load_digits()
    return F.cross_entropy(model(images), labels).item()


def block_of_lesson_84(bias: bool) -> ref.EncoderBlock:
    return ref.EncoderBlock(64, 8, 256, bias=bias)


def stack_shapes() -> set[tuple[int, ...]]:
    x, shapes = torch.randn(2, 4, 16), []
    for layer in ref.TransformerEncoder(2, 16, 4, 32).layers:
        x = layer(x)
        shapes.append(tuple(x.shape))
    return set(shapes)


def weight_of_padding() -> float:
    """The greatest weight that any head and query gives to PAD, at position 3 of row 1."""
    torch.manual_seed(0)
    ids = torch.tensor([[5, 6, 7, 8], [5, 6, 7, 0]])
    mask = ~ref.padding_mask(ids, pad_id=0)[:, None, None, :]
    x = torch.randn(2, 4, 16)
    _, weights = ref.MultiHeadAttention(16, 4)(x, x, x, mask)  # (2, 4, 4, 4)
    return weights[1, :, :, 3].max().item()


def lowest_smoothed_loss(n_classes: int) -> float:
    """The loss of `train` on a model that answers with the smoothed target itself."""

    class Perfect(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            target = torch.full((n_classes,), 0.1 / n_classes)
            target[0] += 0.9
            self.logits = nn.Parameter(target.log())

        def forward(self, input_ids: Tensor) -> Tensor:
            return self.logits.expand(len(input_ids), n_classes)

    zeros = torch.zeros(1, dtype=torch.int64)
    return ref.train(Perfect(), zeros[None], zeros, epochs=1, label_smoothing=0.1)[0]


def equal_tokens(length: int) -> float:
    x = torch.ones(1, length, 16)
    _, weights = ref.MultiHeadAttention(16, 4)(x, x, x)
    assert weights.max() == weights.min()
    return weights.max().item()


# The table


def rate(step: int) -> Callable[[], float]:
    return lambda: ref.warmup_cosine(step, 10, 100, 1e-3)


LESSON_115 = [
    Figure(115, "scale of scores for d_k 64", lambda: scale(64), 0.125, FOUR_DECIMALS),
    Figure(115, "scale of scores for d_k 8", lambda: scale(8), 0.3536, FOUR_DECIMALS),
    Figure(115, "trace, shape of QK^T", lambda: tuple(trace()["scores"].shape), (4, 4)),
    *table(
        115,
        "trace, QK^T row {i} column {j}",
        lambda: trace()["scores"],
        [[-5.8108, -3.6962, -4.3623, -8.6428]],
        FOUR_DECIMALS,
    ),
    *table(
        115,
        "trace, softmax row {i} column {j}",
        lambda: trace()["weights"],
        [[0.1942, 0.4102, 0.3242, 0.0714]],
        FOUR_DECIMALS,
    ),
    Figure(115, "trace, shape of the output", lambda: tuple(trace()["output"].shape), (4, 8)),
    *table(
        115,
        "trace, output row {i} column {j}",
        lambda: trace()["output"],
        [[0.2667, 0.2371, -0.0554, 0.1298, 0.3541, -0.1906, -0.6448, -0.0085]],
        FOUR_DECIMALS,
    ),
    Figure(115, "linear layers (32, 32) of the attention layer", linears, 4),
    Figure(115, "shape of the layer's output", lambda: layer_shapes()[0], (1, 6, 32)),
    Figure(115, "shape of the layer's weights", lambda: layer_shapes()[1], (1, 4, 6, 6)),
    Figure(
        115,
        "parameters of the encoder block 32, 4, 64",
        lambda: count(ref.EncoderBlock(32, 4, 64)),
        8_416,
    ),
    Figure(
        115,
        "parameters of the encoder block 32, 4, 64 with biased projections",
        lambda: count(ref.EncoderBlock(32, 4, 64, bias=True)),
        8_544,
    ),
    Figure(
        115,
        "parameters of the decoder block 32, 4, 64",
        lambda: count(ref.DecoderBlock(32, 4, 64)),
        12_576,
    ),
    Figure(
        115,
        "causal mask of size 3",
        lambda: ref.causal_mask(3).int().tolist(),
        [[1, 0, 0], [1, 1, 0], [1, 1, 1]],
    ),
    *[
        Figure(
            115,
            f"PE pos 3 dim {dim}",
            lambda dim=dim: ref.sinusoidal_positional_encoding(10, 8)[3, dim].item(),
            value,
            FOUR_DECIMALS,
        )
        for dim, value in enumerate([0.1411, -0.9900, 0.2955, 0.9553])
    ],
    *[
        Figure(
            115,
            f"cost of QK^T and .V, n {2 * n} over n {n}",
            lambda n=n: attention_flops(2 * n) / attention_flops(n),
            4.0,
        )
        for n in (64, 128, 256)
    ],
    Figure(
        115,
        "cost of the projections at n 64, d 16 (8nd^2)",
        lambda: layer_flops(64) - attention_flops(64),
        8 * 64 * 16**2,
    ),
    Figure(
        115,
        "cost of the whole layer grows less than 4 times",
        lambda: 2 < layer_flops(128) / layer_flops(64) < 4,
        True,
    ),
    Figure(115, "score entries at n 1024", lambda: score_entries(1024), 1_048_576),
    Figure(115, "score entries at n 2048", lambda: score_entries(2048), 4_194_304),
    *table(
        115,
        "graph layer, row-normalised A+I row {i} column {j}",
        mean_matrix,
        [[1 / 2, 1 / 2, 0.0], [1 / 3, 1 / 3, 1 / 3], [0.0, 1 / 2, 1 / 2]],
        1e-6,
    ),
    Figure(115, "PixelBERT, images", lambda: pixelbert_run()["images"], 80),
    Figure(115, "PixelBERT, loss at step 0", lambda: pixelbert_run()["first"], 2.3599, 0.1),
    Figure(115, "PixelBERT, loss of a guess, ln 10", loss_of_a_guess, 2.3026, FOUR_DECIMALS),
    Figure(115, "PixelBERT, steps of 5 that lower the loss", lambda: pixelbert_run()["falls"], 5),
]

LESSON_84 = [
    Figure(
        84,
        "parameters of attention, d 64, 8 heads",
        lambda: count(block_of_lesson_84(True).attention),
        16_640,
    ),
    Figure(
        84,
        "parameters of attention without biases",
        lambda: count(block_of_lesson_84(False).attention),
        16_384,
    ),
    Figure(
        84,
        "parameters of the FFN, d 64, d_ff 256",
        lambda: count(block_of_lesson_84(True).linear1) + count(block_of_lesson_84(True).linear2),
        33_088,
    ),
    Figure(84, "parameters of LayerNorm 1", lambda: count(block_of_lesson_84(True).norm1), 128),
    Figure(84, "parameters of LayerNorm 2", lambda: count(block_of_lesson_84(True).norm2), 128),
    Figure(84, "parameters of the block", lambda: count(block_of_lesson_84(True)), 49_984),
    Figure(
        84,
        "parameters of the block without attention biases",
        lambda: count(block_of_lesson_84(False)),
        49_728,
    ),
    Figure(84, "shapes after each layer of the stack", stack_shapes, {(2, 4, 16)}),
    *table(
        84,
        "PE pos {i} dim {j}",
        lambda: ref.sinusoidal_positional_encoding(10, 8),
        [[0.0, 1.0, 0.0, 1.0], [0.8415, 0.5403, 0.0998, 0.995], [0.9093, -0.4161, 0.1987, 0.9801]],
        FOUR_DECIMALS,
    ),
    Figure(84, "attention weight of PAD", weight_of_padding, 0.0),
    Figure(84, "rate at step 0", rate(0), 0.0),
    Figure(84, "rate at step 1", rate(1), 1e-4, 1e-12),
    Figure(84, "rate at step 5", rate(5), 5e-4, 1e-12),
    Figure(84, "rate at step 10", rate(10), 1e-3, 1e-12),
    Figure(84, "rate at step 25", rate(25), 9.3301e-4, 5.1e-9),
    Figure(84, "rate at step 50", rate(50), 5.8682e-4, 5.1e-9),
    Figure(84, "rate at step 55", rate(55), 5e-4, 1e-12),
    Figure(84, "rate at step 75", rate(75), 1.7861e-4, 5.1e-9),
    Figure(84, "rate at step 99", rate(99), 3e-7, 5.1e-9),
    Figure(84, "rate at step 100", rate(100), 0.0, 1e-12),
    *[
        Figure(
            84,
            f"least loss with smoothing 0.1 and {n_classes} classes",
            lambda n_classes=n_classes: lowest_smoothed_loss(n_classes),
            value,
            FOUR_DECIMALS,
        )
        for n_classes, value in ((2, 0.1985), (3, 0.2911), (10, 0.5003))
    ],
    Figure(84, "weight of one token alone", lambda: equal_tokens(1), 1.0),
    Figure(84, "weight of each of 8 equal tokens", lambda: equal_tokens(8), 0.125, 1e-7),
]


@pytest.mark.parametrize("figure", LESSON_115 + LESSON_84, ids=str)
def test_figure(figure: Figure) -> None:
    got = figure.recompute()
    if figure.tolerance:
        assert got == pytest.approx(figure.value, rel=0, abs=figure.tolerance)
    else:
        assert got == figure.value


# Lesson 84 prints "params = 3,264 (= 2 × 1,632)" for N 2, d 16, d_ff 32. Neither convention gives
# that: it is the count at d_ff 16.


def pytorch_stack() -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


ERRATUM = [
    Figure(
        84,
        "stack N 2, d 16, d_ff 32 without attention biases",
        lambda: count(ref.TransformerEncoder(2, 16, 4, 32)),
        4_320,
    ),
    Figure(
        84,
        "stack N 2, d 16, d_ff 32 with attention biases",
        lambda: count(ref.TransformerEncoder(2, 16, 4, 32, bias=True)),
        4_448,
    ),
    Figure(
        84, "stack N 2, d 16, d_ff 32 of PyTorch's layers", lambda: count(pytorch_stack()), 4_448
    ),
    Figure(84, "one block at d_ff 16", lambda: count(ref.EncoderBlock(16, 4, 16)), 1_632),
    Figure(84, "two blocks at d_ff 16", lambda: count(ref.TransformerEncoder(2, 16, 4, 16)), 3_264),
]


@pytest.mark.parametrize("figure", ERRATUM, ids=lambda figure: f"erratum, {figure}")
def test_erratum(figure: Figure) -> None:
    assert figure.recompute() == figure.value
