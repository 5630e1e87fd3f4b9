"""What checks compute for themselves, without a submission, or with a stand-in for one."""

import math
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from grader.checks import Draw
from grader.checks.classifier import VOCAB, WIDTH, is_matrix, logits, may_be_cls, sentences
from grader.checks.cost import attention_costs, polynomial, quadratic_table
from grader.checks.graph import assert_mean, chain
from grader.checks.pixelbert import (
    CLASSES,
    positions,
    runs_permuted,
    squares_permuted,
)
from grader.checks.pixelbert import WIDTH as PIXEL_WIDTH
from grader.checks.positional import assert_encoding
from grader.checks.training import (
    ADAMW_DECAY,
    group_decays,
    learning_rate,
    losses_text,
    smoothed_floor,
    training_losses,
)
from grader.errors import CheckFailure
from grader.student import Parameter
from grader.worker.answers import Foreign
from reference import mean_aggregate, sinusoidal_positional_encoding
from reference.misconceptions.graph import GRAPH_MUTANTS
from reference.misconceptions.positional import POSITIONAL_MUTANTS


class Function:
    """Stands for a definition of a submission: calls a function of this process."""

    def __init__(self, function, operations=None):
        self.function, self.operations, self.lengths = function, operations, []

    def __call__(self, *values):
        return self.function(*values)

    def call(self, *values, count=False, **options):
        if count:
            self.lengths.append(values[0].shape[-2])
            return SimpleNamespace(operations=self.operations(values[0].shape[-2]))
        options = {n: v for n, v in options.items() if n not in ("listed", "train", "omit_none")}
        return SimpleNamespace(returned=self.function(*values, **options))


class Model:
    """Stands for a layer that lives in a worker."""

    def __init__(self, module=None, returned=None):
        self.module, self.returned = module, returned

    def parameters(self):
        named = self.module.named_parameters()
        return {name: Parameter(p.detach(), p.requires_grad) for name, p in named}

    def __call__(self, *values):
        return self.returned


# cost


def right_cost(n):
    return 64 * n * n + 7 * n + 3


def test_costs_of_fast_code_are_counted_at_all_lengths():
    attend = Function(None, right_cost)
    assert attention_costs(attend, Draw("a", "c")) == {
        n: right_cost(n) for n in (64, 128, 256, 512)
    }
    assert attend.lengths == [64, 128, 256, 512]


def test_costs_of_slow_code_are_carried_on_exactly_from_short_lengths(monkeypatch):
    ticks = iter([0.0, 100.0])
    monkeypatch.setattr("grader.checks.cost.time.monotonic", lambda: next(ticks))
    attend = Function(None, right_cost)
    assert attention_costs(attend, Draw("a", "c")) == {
        n: right_cost(n) for n in (64, 128, 256, 512)
    }
    assert max(attend.lengths) == 128


def test_costs_that_cannot_be_counted_are_0():
    costs = attention_costs(Function(None, lambda n: None), Draw("a", "c"))
    assert set(costs.values()) == {0}


def test_the_quadratic_part_stands_beside_the_counts_and_grows_fourfold():
    counts = {n: right_cost(n) for n in (64, 128, 256, 512)}
    head, *lines = quadratic_table(counts).splitlines()
    assert head.split() == ["n", "operations", "ratio", "part", "in", "n²", "ratio"]
    assert lines[0].split() == ["64", f"{counts[64]:,}", f"{64 * 64**2:,}"]
    assert lines[1].split()[-1] == "4.000"
    assert lines[3].split() == [
        "512", f"{counts[512]:,}", f"{counts[512] / counts[256]:.3f}", f"{64 * 512**2:,}", "4.000",
    ]  # fmt: skip


def test_a_cost_without_a_quadratic_part_shows_none():
    lines = quadratic_table({n: 5 * n for n in (64, 128, 256, 512)}).splitlines()[1:]
    assert [line.split()[-1] for line in lines] == ["0"] * 4
    assert "4.000" not in "\n".join(lines)


def test_a_polynomial_through_fewer_points_has_a_lower_degree():
    assert polynomial({1: 3, 2: 5}) == [1, 2]


# positional encodings and graphs


def test_the_right_encoding_passes_also_when_computed_in_float32():
    def in_float32(max_len, d_model):
        angle = torch.arange(max_len)[:, None] * torch.exp(
            torch.arange(0, d_model, 2) * (-math.log(10_000.0) / d_model)
        )
        return torch.stack([angle.sin(), angle.cos()], 2).flatten(1)

    assert_encoding(Function(sinusoidal_positional_encoding), 600, 16)
    assert_encoding(Function(in_float32), 2000, 32)


@pytest.mark.parametrize("name", POSITIONAL_MUTANTS)
def test_a_wrong_encoding_is_named(name):
    for mutant in POSITIONAL_MUTANTS[name]:
        with pytest.raises(CheckFailure) as info:
            assert_encoding(Function(mutant), 50, 16)
        # half the exponent is the base 100, and either is a right name for it
        assert info.value.misconception in (name, "pe-exponent-index")
        assert "The table is wrong from position" in info.value.message
        assert info.value.shown == "sinusoidal_positional_encoding(50, 16)"


def test_the_place_of_the_first_wrong_entry_is_told():
    def wrong(max_len, d_model):
        table = sinusoidal_positional_encoding(max_len, d_model)
        table[7, 5:] += 0.1
        return table

    with pytest.raises(CheckFailure, match="position 7, dimension 5") as info:
        assert_encoding(Function(wrong), 20, 16)
    assert info.value.misconception is None


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_a_table_with_an_entry_that_is_no_number_is_wrong(wrong):
    def define(max_len, d_model):
        table = sinusoidal_positional_encoding(max_len, d_model)
        table[3, 3] = wrong
        return table

    with pytest.raises(CheckFailure):
        assert_encoding(Function(define), 20, 16)


@pytest.mark.parametrize("returned", [None, torch.zeros(16, 20), torch.zeros(1, 20, 16), [[0.0]]])
def test_what_is_no_table_of_that_shape_is_told(returned):
    with pytest.raises(CheckFailure, match="positional encoding"):
        assert_encoding(Function(lambda *_: returned), 20, 16)


def test_a_chain_joins_each_node_with_the_next():
    assert chain(3).tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert chain(1).tolist() == [[0]]


EDGES = torch.tensor([[0, 1, 1, 0], [0, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 0.0]])
FEATURES = torch.tensor([[1.0, 7.0], [2.0, -3.0], [4.0, 0.5], [8.0, 2.0]])


def test_the_mean_over_neighbours_passes():
    assert_mean(Function(mean_aggregate), FEATURES, EDGES)


@pytest.mark.parametrize("name", GRAPH_MUTANTS)
def test_a_wrong_graph_layer_is_named(name):
    with pytest.raises(CheckFailure) as info:
        assert_mean(Function(GRAPH_MUTANTS[name]), FEATURES, EDGES)
    assert info.value.misconception == name


# training


def module():
    torch.manual_seed(0)
    made = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_()
    return made


GROUPS = {
    "two groups": lambda m, decay: [
        {"params": [m[0].weight], "weight_decay": decay},
        {"params": [m[0].bias, m[1].weight, m[1].bias], "weight_decay": 0.0},
    ],
    "one tensor in place of a list": lambda m, decay: [
        {"params": m[0].weight, "weight_decay": torch.tensor(decay)},
        {"params": [m[0].bias, m[1].weight, m[1].bias], "weight_decay": 0},
    ],
    "pairs of name and parameter": lambda m, decay: (
        {"params": [("w", m[0].weight)], "weight_decay": decay},
        {"params": [("b", m[0].bias), ("g", m[1].weight), ("s", m[1].bias)], "weight_decay": 0.0},
    ),
}  # fmt: skip


DECAY = 0.125


def decays_of(groups, made=None):
    made = made or module()
    return group_decays(Function(lambda _, decay: groups(made, decay)), Model(made), DECAY)


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS)
def test_the_decay_of_each_parameter_is_read_from_its_group(groups):
    assert decays_of(groups) == {
        "0.weight": [DECAY],
        "0.bias": [0.0],
        "1.weight": [0.0],
        "1.bias": [0.0],
    }


def test_a_parameter_in_two_groups_or_none_has_two_decays_or_none():
    found = decays_of(
        lambda m, decay: [
            {"params": [m[0].weight, m[0].bias], "weight_decay": decay},
            {"params": [m[0].weight], "weight_decay": 0.0},
        ]
    )
    assert found == {"0.weight": [DECAY, 0.0], "0.bias": [DECAY], "1.weight": [], "1.bias": []}


def test_a_group_without_a_decay_has_that_of_adamw():
    found = decays_of(lambda m, decay: [{"params": list(m.parameters())}])
    assert set(map(tuple, found.values())) == {(ADAMW_DECAY,)}
    found = decays_of(lambda m, decay: list(m.parameters()))
    assert set(map(tuple, found.values())) == {(ADAMW_DECAY,)}


def test_a_parameter_that_is_not_trained_does_not_count():
    made = module()
    made[1].weight.requires_grad_(False)
    found = decays_of(lambda m, decay: [{"params": [m[0].weight], "weight_decay": decay}], made)
    assert "1.weight" not in found


@pytest.mark.parametrize(
    ("returned", "word"),
    [
        (None, "no list"),
        ([], "no list"),
        ({"params": []}, "no list"),
        ([{"weight_decay": 0.1}], '"params"'),
        ([{"params": []}, 3], '"params"'),
        ([{"params": [], "weight_decay": "much"}], "no number"),
        ([{"params": [], "weight_decay": True}], "no number"),
        ([{"params": [torch.zeros(3)]}], "no parameter of the model"),
        ([{"params": ["0.weight"]}], "no parameter of the model"),
    ],
)
def test_what_are_no_groups_is_told_in_a_sentence(returned, word):
    with pytest.raises(CheckFailure, match=word) as info:
        decays_of(lambda m, decay: returned)
    assert info.value.expected


@pytest.mark.parametrize("value", [0.25, torch.tensor(0.25), torch.tensor([0.25])])
def test_a_rate_may_be_a_number_or_a_tensor_of_one(value):
    assert learning_rate(Function(lambda step: value), 3) == 0.25


def test_a_rate_may_be_a_number_of_numpy():
    assert learning_rate(Function(lambda step: Foreign("numpy.float64", "0.25")), 3) == 0.25


@pytest.mark.parametrize(
    "value", [None, "0.1", True, float("nan"), float("inf"), torch.zeros(2), [0.1]]
)
def test_a_rate_that_is_no_finite_number_is_told(value):
    with pytest.raises(CheckFailure, match="no finite number"):
        learning_rate(Function(lambda step: value), 3)


@pytest.mark.parametrize("returned", [[0.5] * 50, (0.5,) * 50, torch.full((50,), 0.5),
                                      [torch.tensor(0.5)] * 50])  # fmt: skip
def test_losses_may_be_a_list_a_tuple_or_a_tensor(returned):
    train = Function(lambda *values, **options: returned)
    assert training_losses(train, Model(), sentences([1]), torch.tensor([0])) == [0.5] * 50


@pytest.mark.parametrize(
    ("returned", "word", "misconception"),
    [
        (None, "no list", None),
        (0.5, "no list", None),
        ([0.5], "1 losses", "train-one-epoch"),
        ([0.5] * 49, "49 losses", None),
        ([], "0 losses", None),
        ([0.5] * 49 + ["x"], "no number", None),
        ([0.5] * 49 + [float("nan")], "not finite", None),
    ],
)
def test_losses_of_another_form_are_told(returned, word, misconception):
    train = Function(lambda *values, **options: returned)
    with pytest.raises(CheckFailure, match=word) as info:
        training_losses(train, Model(), sentences([1]), torch.tensor([0]))
    assert info.value.misconception == misconception


@pytest.mark.parametrize("classes", [2, 5, 10])
@pytest.mark.parametrize("smoothing", [0.05, 0.1, 0.5])
def test_the_floor_is_the_loss_of_the_smoothed_target_itself(smoothing, classes):
    target = torch.full((classes,), smoothing / classes, dtype=torch.float64)
    target[0] += 1 - smoothing
    best = F.cross_entropy(target.log()[None], torch.tensor([0]), label_smoothing=smoothing)
    assert smoothed_floor(smoothing, classes) == pytest.approx(best.item(), abs=1e-9)
    other = torch.randn(64, classes, dtype=torch.float64, generator=Draw("a", "c").generator)
    labels = torch.zeros(64, dtype=torch.int64)
    losses = F.cross_entropy(other, labels, label_smoothing=smoothing, reduction="none")
    assert float(losses.min()) >= smoothed_floor(smoothing, classes)


def test_losses_are_shown_by_their_first_and_last():
    assert (
        losses_text([1.0, 0.9, 0.8, 0.7, 0.6, 0.5])
        == "1.0000, 0.9000, 0.8000, 0.7000, …, 0.6000, 0.5000"
    )


# classifier


VALUES = {
    "cls": torch.zeros(1, 1, WIDTH),
    "flat": torch.zeros(WIDTH),
    "embed.weight": torch.zeros(VOCAB + 1, WIDTH),
    "special.weight": torch.zeros(1, WIDTH),
    "own.cls": torch.zeros(WIDTH),
    "norm.weight": torch.zeros(WIDTH),
    "norm.bias": torch.zeros(WIDTH),
    "head.weight": torch.zeros(5, WIDTH),
    "head.bias": torch.zeros(5),
    "dense.weight": torch.zeros(WIDTH, WIDTH),
    "dense.bias": torch.zeros(WIDTH),
    "wide.weight": torch.zeros(VOCAB, 7),
}


@pytest.mark.parametrize("name", ["cls", "flat", "embed.weight", "special.weight", "own.cls"])
def test_a_vector_of_its_own_or_an_embedding_may_be_cls(name):
    assert may_be_cls(name, VALUES)


@pytest.mark.parametrize(
    "name", ["norm.weight", "norm.bias", "head.weight", "head.bias", "dense.bias", "wide.weight"]
)
def test_parts_of_a_norm_or_of_a_linear_layer_are_no_cls(name):
    assert not may_be_cls(name, VALUES)


@pytest.mark.parametrize(
    ("shape", "matrix"),
    [((3, 4), True), ((3, 1, 4), True), ((2, 3, 4), True), ((4,), False), ((1, 4), False),
     ((1, 1, 1), False), ((), False)],
)  # fmt: skip
def test_axes_of_size_one_make_no_matrix(shape, matrix):
    assert is_matrix(torch.zeros(shape)) is matrix


def test_sentences_are_token_ids():
    assert sentences([1, 2], [3, 4]).dtype == torch.int64
    assert sentences([1, 2], [3, 4]).shape == (2, 2)


# PixelBERT

IMAGES = torch.arange(2 * 64.0).view(2, 8, 8)


def test_squares_are_moved_as_wholes():
    moved = squares_permuted(IMAGES, torch.tensor([3, 0, 1, 2]))
    assert torch.equal(moved[:, :4, :4], IMAGES[:, 4:, 4:])
    assert torch.equal(moved[:, :4, 4:], IMAGES[:, :4, :4])
    assert torch.equal(moved[:, 4:, :4], IMAGES[:, :4, 4:])
    assert torch.equal(moved[:, 4:, 4:], IMAGES[:, 4:, :4])


def test_runs_are_moved_as_pairs_of_rows():
    moved = runs_permuted(IMAGES, torch.tensor([3, 0, 1, 2]))
    assert torch.equal(moved[:, :2], IMAGES[:, 6:])
    assert torch.equal(moved[:, 2:], IMAGES[:, :6])


@pytest.mark.parametrize("move", [squares_permuted, runs_permuted])
def test_a_permutation_that_is_taken_back_leaves_the_images(move):
    order = torch.tensor([2, 0, 3, 1])
    assert torch.equal(move(IMAGES, torch.arange(4)), IMAGES)
    assert torch.equal(move(move(IMAGES, order), order.argsort()), IMAGES)
    assert not torch.equal(move(IMAGES, order), IMAGES)


class Learned(nn.Module):
    def __init__(self, **shapes):
        super().__init__()
        for name, shape in shapes.items():
            self.register_parameter(name, nn.Parameter(torch.zeros(shape)))


W = PIXEL_WIDTH


@pytest.mark.parametrize("shape", [(4, W), (5, W), (1, 5, W), (1, 4, W), (W, 4), (2, W), (2, 2, W)])
def test_learned_positions_are_found_in_any_form(shape):
    model = Model(Learned(positions=shape, cls=(1, 1, W), patches=(W, 16), head=(CLASSES, W)))
    assert positions(model, 4) == ["positions"]


def test_rows_and_columns_are_positions_too():
    assert positions(Model(Learned(rows=(2, W), columns=(2, W), cls=(W,))), 4) == [
        "rows",
        "columns",
    ]


def test_a_model_without_learned_positions_is_told_what_it_has():
    model = Model(Learned(cls=(1, 1, W), head=(CLASSES, W)))
    with pytest.raises(CheckFailure, match="no learned positions") as info:
        positions(model, 4)
    assert info.value.misconception == "pe-missing"
    assert "head" in info.value.got
    frozen = Learned(positions=(5, W))
    frozen.positions.requires_grad_(False)
    with pytest.raises(CheckFailure, match="no learned positions"):
        positions(Model(frozen), 4)


@pytest.mark.parametrize("wrap", [lambda t: t, lambda t: (t, None), lambda t: [t]])
def test_logits_may_come_first_of_several(wrap):
    right = torch.randn(2, CLASSES)
    assert torch.equal(logits(Model(returned=wrap(right)), IMAGES, CLASSES), right)


@pytest.mark.parametrize(
    "returned",
    [{"logits": torch.zeros(2, CLASSES)}, torch.zeros(2, 3), torch.zeros(CLASSES), None, ()],
)
def test_what_are_no_logits_is_told(returned):
    with pytest.raises(CheckFailure):
        logits(Model(returned=returned), IMAGES, CLASSES)
