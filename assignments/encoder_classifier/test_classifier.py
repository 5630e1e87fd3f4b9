"""Milestone 3: the full model. input_ids hold no [CLS]; the model prepends it."""

import pytest
import torch

from grader.checks import assert_close, built, means, same_inputs, show
from grader.checks.blocks import assert_heads_matter
from grader.checks.classifier import (
    CLASSES,
    WIDTH,
    assert_cls_is_learned,
    assert_pools_cls,
    classifier,
    logits,
    may_be_cls,
    random_classifier,
    sees,
    sentences,
)
from grader.checks.layer import assert_gradients_everywhere
from grader.checks.raised import raises_unlike
from grader.errors import CheckFailure, StudentRaised

MAX_LEN = 9


def blocks_ignore_padding(passed):
    """Whether the encoder itself treats padding rightly, so that a mistake is the model's."""
    names = ("padding_mask_values", "block_ignores_padded_keys", "stack_ignores_padded_keys")
    return all(passed(name) for name in names)


@pytest.mark.parametrize(("batch", "length"), [(2, 4), (1, 5), (3, 2)])
def test_logits_shape(student, draw, batch, length):
    """The logits are (B, C), also for a batch of one."""
    model = random_classifier(student.TransformerEncoderClassifier, draw)
    ids = 1 + torch.arange(batch * length).view(batch, length) % 12
    with raises_unlike("pe-too-short", lambda: logits(model, ids[:, :1])):
        output = logits(model, ids)
    if not bool(torch.isfinite(output).all()):
        raise CheckFailure("The logits are not finite.", "finite values", show(output))


def test_logits_are_no_probabilities(student, draw):
    """The model gives logits: no softmax, log-softmax or sigmoid at its end."""
    model = random_classifier(student.TransformerEncoderClassifier, draw)
    few = [sentences([a, b, 3]) for a in range(1, 8) for b in (2, 9)]
    rows = torch.cat([logits(model, tokens) for tokens in few])
    # With a head 50 times as large, and one of the other sign, logits are large and of either sign
    # whatever the weights are; what follows a head keeps its range.
    values = {name: p.value for name, p in model.parameters().items() if CLASSES in p.value.shape}
    every = [rows]
    for factor in (50, -50):
        model.set_parameters({name: factor * value for name, value in values.items()})
        every.append(torch.cat([logits(model, tokens) for tokens in few[::2]]))
    seen = torch.cat(every)
    ones = torch.ones(len(seen))
    kind = None
    if torch.allclose(seen.sum(1), ones, atol=1e-3) and bool((seen >= 0).all()):
        kind = "softmax"
    elif torch.allclose(seen.logsumexp(1), 0 * ones, atol=1e-3):
        kind = "log-softmax"
    elif bool(((seen >= 0) & (seen <= 1)).all()):
        kind = "sigmoid"
    elif bool((seen >= 0).all()) or float(seen.abs().max()) <= 1:
        raise CheckFailure(
            "The logits are never negative, or never large: something follows the linear head.",
            "logits, of either sign and any size",
            show(rows[0]),
            "input_ids = torch.tensor([[1, 2, 3]])",
        )
    if kind:
        raise CheckFailure(
            f"The model returns probabilities ({kind}); cross-entropy takes logits.",
            "logits, of either sign and any sum",
            show(rows[0]),
            "input_ids = torch.tensor([[1, 2, 3]])",
            "probabilities-returned",
        )


def test_two_layers_by_default(student):
    """Without n_layers the model has two encoder layers."""
    counts = {}
    for n_layers in (None, 1, 2, 3):
        given = {} if n_layers is None else {"n_layers": n_layers}
        model = student.TransformerEncoderClassifier.call(
            vocab_size=13, n_classes=5, **given, omit_none=True
        ).returned
        counts[n_layers] = sum(p.value.numel() for p in model.parameters().values())
    if counts[None] != counts[2] or not counts[1] < counts[2] < counts[3]:
        raise CheckFailure(
            "The number of layers is not as asked for.",
            "as many parameters by default as for n_layers=2, and more for each further layer",
            ", ".join(f"{n or 'default'}: {count}" for n, count in counts.items()),
            misconception="argument-ignored" if len(set(counts.values())) == 1 else None,
        )


def test_cls_is_pooled(student, draw):
    """The logits are read from [CLS] at position 0: no mean, no maximum, no last token."""
    assert_pools_cls(student.TransformerEncoderClassifier, draw)


def test_cls_is_learned(student, draw):
    """[CLS] is a parameter or an embedding, and gets a gradient."""
    assert_cls_is_learned(student.TransformerEncoderClassifier, draw)


def test_every_token_is_read(student, draw):
    """Every token of a sentence changes the logits, in models of one layer and of two."""
    define, base = student.TransformerEncoderClassifier, [3, 7, 4, 9]
    for n_layers in (1, 2):
        for position in range(4):
            other = list(base)
            other[position] = 11
            if not sees(define, draw, sentences(base), sentences(other), n_layers=n_layers):
                raise CheckFailure(
                    f"Another token at position {position} of {base} does not change the logits.",
                    "other logits",
                    "the same logits",
                    f"input_ids = torch.tensor([{base}]) and torch.tensor([{other}])",
                )


def test_order_matters(student, draw):
    """With positions, the same tokens in another order give other logits."""
    base = [3, 7, 4, 9]
    for other in ([7, 3, 4, 9], [3, 7, 9, 4], [9, 4, 7, 3]):
        if not sees(student.TransformerEncoderClassifier, draw, sentences(base), sentences(other)):
            model = random_classifier(student.TransformerEncoderClassifier, draw)
            first, second = logits(model, sentences(base, base))
            by_batch = not torch.allclose(first, second, atol=1e-4)
            raise CheckFailure(
                f"{base} and {other} give the same logits: the order is not seen.",
                "other logits",
                "the same logits",
                f"input_ids = torch.tensor([{base}]) and torch.tensor([{other}])",
                "pe-axis" if by_batch else "pe-missing",
            )


def test_positions_are_added(student, draw):
    """Positions are added to the embeddings: they count also where all embeddings are 0."""
    model = random_classifier(student.TransformerEncoderClassifier, draw)
    values = {name: p.value for name, p in model.parameters().items() if p.requires_grad}
    inputs = [name for name in values if may_be_cls(name, values)]
    model.set_parameters({name: torch.zeros_like(values[name]) for name in inputs})
    short, long = logits(model, sentences([3, 3])), logits(model, sentences([3, 3, 3, 3, 3]))
    if float((short - long).abs().max()) < 1e-6:
        raise CheckFailure(
            "With all embeddings at 0, two tokens and five give the same logits: positions have no "
            "effect of their own.",
            "other logits: embedding + positional encoding",
            "the same logits",
            "input_ids = torch.tensor([[3, 3]]) and torch.tensor([[3, 3, 3, 3, 3]])",
        )


def test_order_matters_by_position_alone(student, draw):
    """Once all positions have the same encoding, the order no longer matters."""
    model = random_classifier(student.TransformerEncoderClassifier, draw)
    base, other = sentences([3, 7, 4, 9]), sentences([9, 3, 7, 4])
    before = logits(model, base)
    model.equal_positions("sinusoidal_positional_encoding", WIDTH, MAX_LEN)
    after = logits(model, base)
    if torch.allclose(after, before, atol=1e-5):
        return  # the table is out of reach, so nothing can be said
    assert_close(logits(model, other), after, "The logits for another order", atol=1e-3)


def test_positions_are_not_trained(student):
    """The positions are sinusoidal: no parameter grows with max_len."""
    counts = {}
    for max_len in (9, 31):
        model = classifier(student.TransformerEncoderClassifier, max_len=max_len)
        counts[max_len] = {
            name: p.value.numel() for name, p in model.parameters().items() if p.requires_grad
        }
    grown = [name for name, count in counts[31].items() if count != counts[9].get(name)]
    if grown:
        head = any("head" in n or "fc" in n or "out" in n or "class" in n for n in grown)
        raise CheckFailure(
            f"The parameter `{grown[0]}` grows with max_len: positions are learned, or a head "
            "reads all of them.",
            "a sinusoidal table, which is not trained",
            f"{counts[9].get(grown[0], 0)} elements for max_len=9, {counts[31][grown[0]]} for 31",
            misconception="pool-flatten" if head else "pe-is-trained",
        )


@pytest.mark.parametrize("pad_id", [0, 4])
def test_padding_changes_nothing(student, draw, passed, pad_id):
    """The same sentence, padded to any length and in any batch, gives the same logits."""
    model = random_classifier(student.TransformerEncoderClassifier, draw, pad_id=pad_id)
    sentence, longer = [3, 7, 5], [2, 6, 8, 1, 9]
    bare = logits(model, sentences(sentence))

    def meaning():
        """What it is that padding changes the logits."""
        ids = sentences([*sentence, pad_id], [*sentence[:-1], 11, pad_id])
        last, other = logits(model, ids)
        if torch.allclose(last, other, atol=1e-5):
            return "padding-mask-unshifted"  # what stands before the padding is hidden
        if pad_id and torch.allclose(logits(model, sentences([*sentence, 0])), bare, atol=1e-4):
            return "argument-ignored"
        try:
            assert_pools_cls(student.TransformerEncoderClassifier, draw)
        except CheckFailure as failure:
            if failure.misconception in ("pool-mean", "pool-mean-with-padding"):
                return "pool-mean-with-padding"
        return "padding-mask-missing"

    try:
        for n in (1, 2, 4):
            ids = sentences(sentence + [pad_id] * n)
            what = f"The logits for {sentence}, padded by {n},"
            assert_close(logits(model, ids), bare, what, atol=1e-4)
    except CheckFailure as failure:
        if failure.misconception is None and blocks_ignore_padding(passed):
            failure.misconception = meaning()
        raise
    batch = sentences(sentence + [pad_id] * 2, longer)
    both = torch.cat([bare, logits(model, sentences(longer))])
    assert_close(logits(model, batch), both, "The logits of a padded batch", atol=1e-4)


def test_padding_is_told_by_content(student, draw, passed):
    """Padding is hidden wherever it stands: no gradient reaches its embedding."""
    model = random_classifier(student.TransformerEncoderClassifier, draw)
    ids = sentences([3, 0, 7, 4], [5, 7, 0, 0])
    gradients = model.call(ids, probe=draw.normal(2, CLASSES)).parameter_gradients or {}
    for name, gradient in gradients.items():
        rows = 0 if gradient is None or gradient.shape[1:] != (WIDTH,) else len(gradient)
        if not 13 <= rows <= 15:
            continue  # no table of embeddings
        reached = int((gradient.abs().amax(1) > 1e-6 * gradient.abs().max()).sum())
        if reached > 4 + (rows > 13):  # 3, 4, 5, 7, and [CLS] where it has a row
            raise CheckFailure(
                "The logits depend on the embedding of padding: it is not hidden.",
                "gradients for the tokens 3, 4, 5 and 7 alone",
                f"gradients for {reached} rows of `{name}`",
                "input_ids = torch.tensor([[3, 0, 7, 4], [5, 7, 0, 0]])",
                "padding-mask-missing" if blocks_ignore_padding(passed) else None,
            )
    for other in ([3, 0, 8, 4], [3, 0, 7, 6]):
        if not sees(student.TransformerEncoderClassifier, draw, ids[:1], sentences(other)):
            raise CheckFailure(
                "A token after padding in the middle of a sentence is not read.",
                "other logits",
                "the same logits",
                f"input_ids = torch.tensor([[3, 0, 7, 4]]) and torch.tensor([{other}])",
                "mask-by-position",
            )


def test_shortest_and_longest(student, draw):
    """One token is enough, and max_len - 1 tokens are not too many."""
    for max_len, length in ((MAX_LEN, 1), (MAX_LEN, MAX_LEN - 1), (70, 69)):
        first = 1 + torch.arange(length).view(1, -1) % 12
        with means("pe-too-short", raised_only=length > 1):
            last = first.clone()
            last[0, -1] = 12
            if not sees(student.TransformerEncoderClassifier, draw, first, last, max_len=max_len):
                raise CheckFailure(
                    f"Of {length} tokens, the last one is not read.",
                    "other logits for another last token",
                    "the same logits",
                    f"max_len = {max_len}, T = {length}",
                )


def test_cls_is_seen(student, draw):
    """[CLS] is never masked: it attends to itself beside the tokens."""
    model = random_classifier(student.TransformerEncoderClassifier, draw, n_layers=1)
    probe = draw.normal(1, CLASSES)
    longer = model.call(sentences([3, 7]), probe=probe).parameter_gradients or {}
    single = model.call(sentences([3]), probe=probe).parameter_gradients or {}

    def reached(gradients):
        largest = max(
            (float(g.abs().max()) for g in gradients.values() if g is not None), default=0
        )
        return sum(
            int((g.abs() > 1e-6 * largest).sum()) for g in gradients.values() if g is not None
        )

    # With [CLS] masked, a single token gets all the weight, and no gradient reaches queries and
    # keys: two matrices of d_model². An embedding row fewer is reached in any case.
    if reached(longer) - reached(single) > WIDTH * WIDTH:
        raise CheckFailure(
            "With one token, no gradient reaches the queries and keys: [CLS] does not attend to "
            "itself, so it is masked.",
            "two keys, [CLS] and the token, that share the weight",
            "one key",
            "input_ids = torch.tensor([[3]])",
            "cls-masked",
        )


@pytest.mark.parametrize("unknown", [20, 1000])
def test_unknown_id_is_an_error(student, unknown):
    """An id outside the vocabulary is an error, not a silent answer."""
    model = classifier(student.TransformerEncoderClassifier)
    try:
        model(sentences([3, unknown, 4]))
    except StudentRaised:
        return
    raise CheckFailure(
        f"The id {unknown} is accepted, although the vocabulary has 13 tokens.",
        "an error",
        "an answer",
        f"vocab_size = 13, input_ids = torch.tensor([[3, {unknown}, 4]])",
    )


def test_model_samples_are_independent(student, draw, passed):
    """A sentence gives the same logits alone and in a batch."""
    model = random_classifier(student.TransformerEncoderClassifier, draw)
    ids = sentences([3, 7, 4, 9], [1, 1, 2, 5], [12, 8, 8, 6])
    together = logits(model, ids)
    for b in range(3):
        what = f"The logits of sentence {b} in the batch, beside the same sentence alone,"
        alone = logits(model, ids[b : b + 1])[0]
        kind = "batch-mixed" if passed("block_samples_are_independent") else None
        if kind and not torch.allclose(*logits(model, ids[:1].repeat(2, 1)), atol=1e-4):
            kind = "pe-axis"  # the same sentence twice: it is its place in the batch that matters
        assert_close(together[b], alone, what, atol=1e-4, misconception=kind)


def test_model_in_eval(student, draw, passed):
    """In eval mode the same sentence gives the same logits again, whatever the dropout."""
    model = random_classifier(student.TransformerEncoderClassifier, draw, dropout=0.5)
    ids = sentences([3, 7, 4, 9])
    with means("dropout-in-eval" if passed("block_dropout") else None):
        assert_close(logits(model, ids), logits(model, ids), "The second logits in eval mode")
    result = model.call(ids, echo=True)
    same_inputs(result.inputs, [ids], ["input_ids"])


def test_model_gradients(student, draw):
    """The gradient of the logits reaches every parameter of the model."""
    model = random_classifier(student.TransformerEncoderClassifier, draw)
    ids = sentences(list(range(1, 8)), [7, 8, 9, 10, 11, 12, 0])
    probe = draw.normal(2, CLASSES)
    assert_gradients_everywhere(model, (ids,), probe, WIDTH, layers=2)


def test_sizes_are_arguments(student, draw):
    """vocab_size, n_classes, d_model, n_heads and d_ff are what the constructor is given."""
    define = student.TransformerEncoderClassifier
    sizes = {"vocab_size": 30, "n_classes": 3, "d_model": 12, "n_heads": 3, "d_ff": 20}
    model = built(define, **sizes, n_layers=1, max_len=20)
    output = logits(model, sentences([29, 3, 14]), classes=3)
    if not bool(torch.isfinite(output).all()):
        raise CheckFailure("The logits are not finite.", "finite values", show(output))
    wider = built(define, **{**sizes, "d_ff": 21}, n_layers=1, max_len=20)
    counts = [sum(p.value.numel() for p in m.parameters().values()) for m in (model, wider)]
    if counts[0] == counts[1]:
        raise CheckFailure(
            "Another d_ff gives as many parameters.",
            "more parameters for d_ff = 21 than for 20",
            f"{counts[0]:,} for both",
            misconception="argument-ignored",
        )
    del sizes["n_heads"]
    ids = sentences([29, 3, 14, 7, 8])
    assert_heads_matter(define, draw, sizes, (3, 1), lambda model: logits(model, ids, 3))
