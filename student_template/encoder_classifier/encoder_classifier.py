"""A classifier of sentences. Lesson 84, Transformer Encoder for Classification.

Replace each `raise NotImplementedError(...)` by your own code, in any order that suits you:

    milestone 1  positional-encoding  sinusoidal_positional_encoding
    milestone 2  encoder              padding_mask, EncoderBlock, TransformerEncoder
    milestone 3  classifier           TransformerEncoderClassifier, parameter_groups, warmup_cosine,
                                      train
    milestone 4  questions            ANSWERS

Check your work as often as you like: `grader check encoder_classifier.py`.

Letters in the shapes: B batch, T sequence length, D = d_model, H = n_heads, C classes. Tensors are
batch first; float32, and int64 for token ids and labels.

Masks, everywhere in this assignment: True = ignore this key (padding), False = may be attended.
"""

from typing import Any

import torch
from torch import Tensor, nn

# --- Milestone 1: positional encoding -------------------------------------------------------------


def sinusoidal_positional_encoding(max_len: int, d_model: int) -> Tensor:
    """The table of sines and cosines that tells positions apart.

    Row pos belongs to position pos, the first being 0. Features come in pairs, a sine and a cosine
    of the same angle, and each pair is slower than the one before:

        PE[pos, 2i]     = sin(pos / 10000^(2i / D))
        PE[pos, 2i + 1] = cos(pos / 10000^(2i / D))

    Args:
        max_len: the number of positions, from 1 to several thousand.
        d_model: D, an even number.

    Returns:
        (max_len, D), float32. Computing it in float32 is exact enough.

    Example:
        >>> sinusoidal_positional_encoding(max_len=10, d_model=8)[:3, :4]
        tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
                [ 0.8415,  0.5403,  0.0998,  0.9950],
                [ 0.9093, -0.4161,  0.1987,  0.9801]])

    See: Lesson 84, Transformer Encoder for Classification, "Sinusoidal PE formula" and
    "Building sinusoidal PE in PyTorch".
    """
    raise NotImplementedError("milestone 1: sinusoidal_positional_encoding")


# --- Milestone 2: padding mask, block and stack ---------------------------------------------------


def padding_mask(input_ids: Tensor, pad_id: int) -> Tensor:
    """Where the padding is, as `key_padding_mask` wants it.

    Args:
        input_ids: (B, T), int64. Padding usually stands at the end, but what counts is the id,
            wherever it stands.
        pad_id: the id of the padding token. Any id may be it, not only 0.

    Returns:
        (B, T), bool. **True = padding, ignore this key**; False = a real token.

    Example:
        >>> padding_mask(torch.tensor([[5, 2, 7], [3, 0, 0]]), pad_id=0)
        tensor([[False, False, False],
                [False,  True,  True]])

    See: Lesson 84, Transformer Encoder for Classification, "Padding attention mask".
    """
    raise NotImplementedError("milestone 2: padding_mask")


class EncoderBlock(nn.Module):
    """Self-attention, Add & Norm, feed-forward, Add & Norm: one block of the encoder.

    Post-norm, so each LayerNorm comes after the sum:

        x = LayerNorm(x + attention(x, x, x))
        x = LayerNorm(x + ffn(x))                ffn: linear D -> d_ff, ReLU, linear d_ff -> D

    Every position sees every other one: no causal mask here. PyTorch's own layers are allowed,
    `nn.TransformerEncoderLayer` and `nn.MultiheadAttention` among them (with `batch_first=True`),
    and so is attention by hand. The attention's projections may have biases or not. For D = 64,
    H = 8 and d_ff = 256 that makes 49,984 or 49,728 parameters; both are right.

    Example:
        >>> block = EncoderBlock(d_model=16, n_heads=4, d_ff=32)
        >>> block(torch.randn(2, 4, 16)).shape
        torch.Size([2, 4, 16])

    See: Lesson 84, Transformer Encoder for Classification, "Parameter count per encoder block".
    """

    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        """Make the layers of the block.

        Args:
            d_model: D, the number of features of a position, at input and at output.
            n_heads: H, a divisor of D.
            d_ff: features in the middle of the feed-forward part.
            dropout: a rate for training. Where dropout sits is up to you; in eval mode it does
                nothing.
        """
        super().__init__()
        raise NotImplementedError("milestone 2: EncoderBlock.__init__")

    def forward(self, x: Tensor, key_padding_mask: Tensor | None = None) -> Tensor:
        """Let the positions look at each other, then transform each by itself.

        Args:
            x: (B, T, D). T may be 1. Leave the tensor as it is.
            key_padding_mask: (B, T), bool. **True = ignore this key**, as in
                `nn.MultiheadAttention`. None ignores nothing. Every row has at least one False.

        Returns:
            (B, T, D). At positions that are padding themselves any value will do: only the real
            positions are graded.

        Example:
            What stands at an ignored position makes no difference to the others.

            >>> block, x = EncoderBlock(d_model=8, n_heads=2, d_ff=16).eval(), torch.randn(1, 3, 8)
            >>> mask = torch.tensor([[False, False, True]])
            >>> other = x.clone()
            >>> other[:, 2] = 100.0
            >>> torch.allclose(block(x, mask)[:, :2], block(other, mask)[:, :2], atol=1e-5)
            True
        """
        raise NotImplementedError("milestone 2: EncoderBlock.forward")


class TransformerEncoder(nn.Module):
    """N encoder blocks, one after the other, and nothing else.

    Each block has parameters of its own. No embedding, no positional encoding, no final norm: those
    are not the stack's business. `nn.TransformerEncoder` is allowed.

    Example:
        >>> encoder = TransformerEncoder(n_layers=2, d_model=16, n_heads=4, d_ff=32)
        >>> encoder(torch.randn(2, 4, 16)).shape
        torch.Size([2, 4, 16])

    See: Lesson 84, Transformer Encoder for Classification, "Stacking N layers — shape trace".
    """

    def __init__(
        self, n_layers: int, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.0
    ) -> None:
        """Make the blocks.

        Args:
            n_layers: N, the number of blocks, at least 1.
            d_model: D, the number of features of a position, at input and at output.
            n_heads: H, a divisor of D.
            d_ff: features in the middle of the feed-forward part.
            dropout: a rate for training.
        """
        super().__init__()
        raise NotImplementedError("milestone 2: TransformerEncoder.__init__")

    def forward(self, x: Tensor, key_padding_mask: Tensor | None = None) -> Tensor:
        """Pass x through all blocks, each with the same mask.

        Args:
            x: (B, T, D).
            key_padding_mask: (B, T), bool. **True = ignore this key.** None ignores nothing. Every
                row has at least one False.

        Returns:
            (B, T, D). Only the real positions are graded. (In eval mode PyTorch's own stack returns
            padded positions as zeros, or leaves out those at the end: both are fine.)
        """
        raise NotImplementedError("milestone 2: TransformerEncoder.forward")


# --- Milestone 3: the classifier and its training -------------------------------------------------


class TransformerEncoderClassifier(nn.Module):
    """Token ids in, one logit for each class out.

    1. Token embedding, (B, T) -> (B, T, D).
    2. [CLS], a learned vector of D features (an `nn.Parameter`, or an embedding of its own), goes
       in front, at position 0. **The model prepends it itself**: `input_ids` hold no CLS. From here
       on there are T + 1 positions.
    3. The sinusoidal positional encoding is added. It is no parameter: it is not trained.
    4. The encoder stack, with the padding ignored. CLS is never padding, so the mask has T + 1
       columns too, the first of them False.
    5. The CLS position, `encoded[:, 0, :]`, goes through a linear head: (B, C). Not the mean, not
       the maximum, not the last position.

    Anything that this leaves open is yours: CLS with a positional encoding or without, embeddings
    scaled by √D or not, a norm or dropout on them, a hidden layer in the head.

    Example:
        >>> model = TransformerEncoderClassifier(vocab_size=12, n_classes=3)
        >>> model(torch.tensor([[5, 2, 7, 0], [3, 0, 0, 0]])).shape
        torch.Size([2, 3])

    See: Lesson 84, Transformer Encoder for Classification, "The [CLS] token pattern" and
    "The transformer encoder classifier recipe".
    """

    def __init__(
        self,
        vocab_size: int,
        n_classes: int,
        d_model: int = 32,
        n_heads: int = 4,
        d_ff: int = 64,
        n_layers: int = 2,
        max_len: int = 64,
        pad_id: int = 0,
        dropout: float = 0.0,
    ) -> None:
        """Make the layers.

        Args:
            vocab_size: token ids run from 0 to vocab_size - 1, the padding's among them.
            n_classes: C, at least 2.
            d_model: D, an even number.
            n_heads: H, a divisor of D.
            d_ff: features in the middle of the feed-forward part.
            n_layers: the number of encoder blocks.
            max_len: the number of positions, CLS included: sentences have 1 to max_len - 1 tokens.
                Longer ones are not graded.
            pad_id: the id of the padding token.
            dropout: a rate for training.
        """
        super().__init__()
        raise NotImplementedError("milestone 3: TransformerEncoderClassifier.__init__")

    def forward(self, input_ids: Tensor) -> Tensor:
        """Classify each sentence of a batch.

        Args:
            input_ids: (B, T), int64, without CLS. B or T may be 1. Every sentence has at least one
                real token.

        Returns:
            (B, C), logits: no softmax, no sigmoid. They depend neither on how much padding follows
            a sentence nor on the other sentences of the batch.

        Example:
            >>> model = TransformerEncoderClassifier(vocab_size=12, n_classes=3).eval()
            >>> short, long = torch.tensor([[5, 2, 7]]), torch.tensor([[5, 2, 7, 0, 0]])
            >>> torch.allclose(model(short), model(long), atol=1e-5)
            True
        """
        raise NotImplementedError("milestone 3: TransformerEncoderClassifier.forward")


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Sort a model's parameters into groups for `torch.optim.AdamW`: with and without decay.

    Weight matrices of linear and attention layers are decayed. Biases and the parameters of norms
    are not. Embeddings and the CLS vector may go either way. Every parameter of the model is in
    exactly one group.

    Args:
        model: a `TransformerEncoderClassifier` of yours; other models are not graded.
        weight_decay: the decay of the weight matrices.

    Returns:
        Dicts with the keys "params" and "weight_decay", which is `weight_decay` or 0.0. (A tuple or
        a generator of them is fine too.)

    Example:
        >>> model = TransformerEncoderClassifier(vocab_size=12, n_classes=3)
        >>> groups = parameter_groups(model, weight_decay=0.01)
        >>> sorted(group["weight_decay"] for group in groups)
        [0.0, 0.01]
        >>> sum(len(group["params"]) for group in groups) == len(list(model.parameters()))
        True

    See: Lesson 84, Transformer Encoder for Classification, "AdamW: decoupled weight decay".
    """
    raise NotImplementedError("milestone 3: parameter_groups")


def warmup_cosine(step: int, warmup_steps: int, total_steps: int, lr_max: float) -> float:
    """The learning rate of one step: a straight line up, then half a cosine down to 0.

    It is 0 at step 0, `lr_max` at step `warmup_steps`, half of that midway between there and the
    end, and 0 at step `total_steps`.

    Args:
        step: from 0 to total_steps. Beyond the end is not graded.
        warmup_steps: more than 0 and less than total_steps.
        total_steps: where the rate is back at 0.
        lr_max: the peak, more than 0.

    Returns:
        The learning rate, a Python float.

    Example:
        >>> [round(warmup_cosine(step, 10, 100, 1e-3), 7) for step in (0, 5, 10, 25, 55, 100)]
        [0.0, 0.0005, 0.001, 0.000933, 0.0005, 0.0]

    See: Lesson 84, Transformer Encoder for Classification, "Linear warmup + cosine decay schedule".
    """
    raise NotImplementedError("milestone 3: warmup_cosine")


def train(
    model: nn.Module,
    input_ids: Tensor,
    labels: Tensor,
    epochs: int = 50,
    lr_max: float = 1e-3,
    weight_decay: float = 0.01,
    label_smoothing: float = 0.1,
) -> list[float]:
    """Train `model` in place, and say how the loss went.

    It uses `torch.optim.AdamW` over `parameter_groups(model, weight_decay)`, a learning rate that
    `warmup_cosine` sets at every optimizer step over all steps of the training, and the loss
    `F.cross_entropy(logits, labels, label_smoothing=label_smoothing)` (or the same by hand: the
    target of the right class is 1 - ε + ε/C, that of the others ε/C). The model is in train mode
    meanwhile, and every sentence is used once an epoch.

    Up to you: the batch size (all sentences at once is fine), their order, how many steps warm up
    (about a tenth is usual; at least 1, and fewer than all), gradient clipping, and the mode in
    which you leave the model.

    Args:
        model: a `TransformerEncoderClassifier` of yours; other models are not graded.
        input_ids: (N, T), int64: all N sentences, padded to the same length.
        labels: (N,), int64, from 0 to C - 1.
        epochs: how often every sentence is used, at least 2.
        lr_max: the peak of the learning rate, more than 0.
        weight_decay: the decay of the weight matrices.
        label_smoothing: ε, from 0 to below 1.

    Returns:
        `epochs` Python floats: for each epoch the mean training loss of its batches, smoothing
        included, as the batches gave it while the model was trained on them.

    Example:
        The class is the first token's id modulo 3, which the model soon finds out.

        >>> _ = torch.manual_seed(0)
        >>> input_ids = torch.randint(1, 12, (24, 6))
        >>> labels = input_ids[:, 0] % 3
        >>> model = TransformerEncoderClassifier(vocab_size=12, n_classes=3)
        >>> losses = train(model, input_ids, labels, epochs=50, lr_max=5e-3)
        >>> len(losses), losses[-1] < losses[0] / 2
        (50, True)

    See: Lesson 84, Transformer Encoder for Classification, "Milestone 3 — full model, 50 epochs"
    and "Label smoothing".
    """
    raise NotImplementedError("milestone 3: train")


# --- Milestone 4: questions -----------------------------------------------------------------------

# Your answers to the assignment's questions, which `grader show encoder_classifier --questions`
# prints. The keys are the questions' ids. Write the dict out as it is, without variables or calls:
# it is read, never run. A question that you leave out costs only its own points.
#
#     ANSWERS = {
#         "id-of-a-choice": "B",                                    # a letter
#         "id-of-a-number": 0.25,                                   # a number
#         "id-of-a-shape": (2, 3, 8),                               # a tuple
#         "id-of-a-table": ["first row", "second row"],             # the column from top to bottom,
#         "id-of-another-table": {"a row": 1.5, "another row": 2},  # or by the rows' labels
#         "id-of-buckets": {"an item": "its bucket", "another item": "its bucket"},
#         "id-of-a-next-row": {"pos": 7, "sin": 0.657},             # a dict with the row's columns
#         "id-of-an-open-question": "A few sentences. A person reads and marks them.",
#     }

ANSWERS: dict[str, object] = {}


# --- Self-test: optional, yours to change, never graded -------------------------------------------


def try_positional_encoding() -> None:
    table = sinusoidal_positional_encoding(max_len=10, d_model=8)
    assert table.shape == (10, 8), f"expected (10, 8), got {tuple(table.shape)}"
    expected = torch.tensor([0.8415, 0.5403, 0.0998, 0.9950])  # the lesson's row 1
    assert torch.allclose(table[1, :4], expected, atol=1e-4), f"row 1 begins with {table[1, :4]}"


def try_encoder() -> None:
    mask = padding_mask(torch.tensor([[5, 2, 7, 4], [3, 6, 8, 0]]), pad_id=0)
    assert mask.dtype == torch.bool, f"expected a bool mask, got {mask.dtype}"
    assert mask.sum() == 1, f"one token of eight is padding, but {int(mask.sum())} are True"
    encoder = TransformerEncoder(n_layers=2, d_model=16, n_heads=4, d_ff=32).eval()
    x = torch.randn(2, 4, 16)
    output = encoder(x)
    assert output.shape == (2, 4, 16), f"expected (2, 4, 16), got {tuple(output.shape)}"
    other = x.clone()
    other[1, 3] = torch.randn(16)
    before, after = encoder(x, mask)[1, :3], encoder(other, mask)[1, :3]
    assert torch.allclose(before, after, atol=1e-5), "a padded position changes the real ones"


def try_classifier() -> None:
    torch.manual_seed(0)
    input_ids = torch.randint(1, 12, (24, 6))
    labels = input_ids[:, 0] % 3
    model = TransformerEncoderClassifier(vocab_size=12, n_classes=3).eval()
    logits = model(input_ids)
    assert logits.shape == (24, 3), f"expected (24, 3), got {tuple(logits.shape)}"
    padded = torch.cat([input_ids, torch.zeros(24, 2, dtype=torch.int64)], dim=1)
    assert torch.allclose(model(padded), logits, atol=1e-5), "padding changes the logits"
    halfway = warmup_cosine(55, 10, 100, 1e-3)
    assert abs(halfway - 5e-4) < 1e-9, f"expected 5e-4 at step 55 of 100, got {halfway}"
    losses = train(model, input_ids, labels, epochs=50, lr_max=5e-3)
    assert len(losses) == 50, f"expected 50 losses, got {len(losses)}"
    assert losses[-1] < losses[0] / 2, f"the loss went from {losses[0]:.3f} to {losses[-1]:.3f}"


def self_test() -> None:
    """Try milestones 1 to 3 on one small case each and say how far you are."""
    attempts = (try_positional_encoding, try_encoder, try_classifier)
    for number, attempt in enumerate(attempts, 1):
        try:
            attempt()
            result = "looks right"
        except NotImplementedError as error:
            result = f"still to write ({error})"
        except AssertionError as error:
            result = f"not right yet: {error}"
        print(f"milestone {number}: {result}")
    print(f"milestone 4: {len(ANSWERS)} questions answered")


if __name__ == "__main__":
    self_test()
