"""Multi-head attention, written by hand. Lesson 115, Transformer End-to-End Review.

Replace each `raise NotImplementedError(...)` by your own code, in any order that suits you:

    milestone 1  projections   MultiHeadAttention.__init__
    milestone 2  heads         split_heads, merge_heads
    milestone 3  attention     scaled_dot_product_attention
    milestone 4  layer         MultiHeadAttention.forward
    milestone 5  questions     ANSWERS

Check your work as often as you like: `grader check multi_head_attention.py`.

Letters in the shapes: B batch, T sequence length (T_q of the queries, T_k of the keys and values),
D = d_model, H = n_heads, d_k = D / H. Tensors are batch first.

Masks, everywhere in this assignment: True = may attend, False = hidden.
"""

import torch
from torch import Tensor, nn

# --- Milestone 2: heads ---------------------------------------------------------------------------


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Cut the features of every position into `n_heads` pieces, one for each head.

    Head h of position t gets the features h * d_k up to (h + 1) * d_k of that same position t: no
    head may see a feature of another position. A result of the right shape is not yet the right
    result, so try numbers that you can follow by eye.

    Args:
        x: (B, T, D). It need not be contiguous in memory, and B or T may be 1.
        n_heads: H, a divisor of D.

    Returns:
        (B, H, T, d_k), with d_k = D / H, of the dtype of `x`.

    Example:
        >>> x = torch.arange(12).reshape(1, 3, 4)  # 3 positions: 0..3, 4..7, 8..11
        >>> split_heads(x, n_heads=2)[0, 1]  # the second head: the last two of each
        tensor([[ 2,  3],
                [ 6,  7],
                [10, 11]])

    See: Lesson 115, Transformer End-to-End Review, "MHA implementation: shapes at every step".
    """
    raise NotImplementedError("milestone 2: split_heads")


def merge_heads(x: Tensor) -> Tensor:
    """Put the pieces of the heads side by side again: undo `split_heads`.

    Args:
        x: (B, H, T, d_k). It need not be contiguous in memory.

    Returns:
        (B, T, D), with D = H * d_k, of the dtype of `x`: the features of head 0, then those of
        head 1, and so on, position by position.

    Example:
        >>> x = torch.arange(12).reshape(1, 3, 4)
        >>> torch.equal(merge_heads(split_heads(x, n_heads=2)), x)
        True

    See: Lesson 115, Transformer End-to-End Review, "MHA implementation: shapes at every step".
    """
    raise NotImplementedError("milestone 2: merge_heads")


# --- Milestone 3: attention -----------------------------------------------------------------------


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """softmax(Q Kᵀ / √d_k) V, and the weights that the softmax gave.

    Each query scores every key, the scores of one query become weights that sum to 1, and the
    output is the mean of the values under those weights.

    Args:
        query: (..., T_q, d_k). The dots are any number of leading axes, the same for all three:
            none, (B,) or (B, H). Write it for the last two axes and it works for each of them.
        key: (..., T_k, d_k). T_k may differ from T_q.
        value: (..., T_k, d_v). d_v may differ from d_k.
        mask: which keys a query may look at. **True = may attend**, False = hidden. It is bool, or
            0 and 1 of any dtype (int or float), and broadcasts to the scores: (T_q, T_k),
            (B, 1, 1, T_k) or (B, 1, T_q, T_k). None hides nothing. Every query has at least one
            key that it may attend.

    Returns:
        output: (..., T_q, d_v).
        weights: (..., T_q, T_k). Each row sums to 1. The weight of a hidden key is exactly 0, and
            the other weights of its row still sum to 1.

    Leave the tensors that you are given as they are. Any float dtype may come in and the same
    comes out; float32 is what is graded. Large scores (1e4, say) must not end in inf or nan.

    Examples:
        A query of zeros scores all keys alike, so it gets the plain mean of the values.

        >>> query, key = torch.zeros(1, 2), torch.eye(2)
        >>> value = torch.tensor([[1.0, 0.0], [3.0, 4.0]])
        >>> output, weights = scaled_dot_product_attention(query, key, value)
        >>> output, weights
        (tensor([[2., 2.]]), tensor([[0.5000, 0.5000]]))

        With the second key hidden, only the first value is left.

        >>> mask = torch.tensor([[True, False]])
        >>> scaled_dot_product_attention(query, key, value, mask)
        (tensor([[1., 0.]]), tensor([[1., 0.]]))

    See: Lesson 115, Transformer End-to-End Review, "Scaled dot-product attention" and
    "Trace: attention weights with seq=4, d_k=8".
    """
    raise NotImplementedError("milestone 3: scaled_dot_product_attention")


# --- Milestones 1 and 4: projections and layer ----------------------------------------------------


class MultiHeadAttention(nn.Module):
    """Attention in `n_heads` subspaces at once, each with d_k = d_model / n_heads features.

    Four learned projections from d_model to d_model: one each for the queries, the keys and the
    values, and one for the merged output of the heads. They are bias-free here, which makes
    4 · D² parameters; with biases on some or all of them you are right too. Names and layout are
    yours: four layers, one fused matrix, a list with one entry a head, bare parameters.

    Example:
        >>> layer = MultiHeadAttention(d_model=32, n_heads=4)
        >>> x = torch.randn(1, 6, 32)
        >>> output, weights = layer(x, x, x)
        >>> output.shape, weights.shape
        (torch.Size([1, 6, 32]), torch.Size([1, 4, 6, 6]))

    See: Lesson 115, Transformer End-to-End Review, "MHA implementation: shapes at every step" and
    "Your turn — multi-head attention in 15 minutes".
    """

    def __init__(self, d_model: int, n_heads: int) -> None:
        """Make the four projections (milestone 1).

        Args:
            d_model: D, the number of features of a position, at input and at output.
            n_heads: H, from 1 (plain attention) up to D (one feature a head). The number of
                parameters does not depend on it.

        Raises:
            ValueError: when n_heads does not divide d_model. (A failing `assert` is fine too.)
        """
        super().__init__()
        raise NotImplementedError("milestone 1: MultiHeadAttention.__init__")

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Project, split, attend, merge, project (milestone 4).

        Self-attention is `layer(x, x, x)`. In cross-attention the queries come from one sequence
        and the keys and values from another, whose length may differ.

        Args:
            query: (B, T_q, D).
            key: (B, T_k, D).
            value: (B, T_k, D).
            mask: **True = may attend**, False = hidden; bool, or 0 and 1 of any dtype. The same for
                all heads: (T_q, T_k), (B, 1, 1, T_k) or (B, 1, T_q, T_k). None hides nothing.

        Returns:
            output: (B, T_q, D).
            weights: (B, H, T_q, T_k), those of each head by itself, not their mean.

        Example:
            Causal self-attention: no position looks at a later one.

            >>> layer, x = MultiHeadAttention(d_model=8, n_heads=2), torch.randn(1, 3, 8)
            >>> output, weights = layer(x, x, x, mask=torch.tril(torch.ones(3, 3)))
            >>> weights[0, :, 0]  # in both heads position 0 has only itself to look at
            tensor([[1., 0., 0.],
                    [1., 0., 0.]], grad_fn=<SelectBackward0>)
        """
        raise NotImplementedError("milestone 4: MultiHeadAttention.forward")


# --- Milestone 5: questions -----------------------------------------------------------------------

# Your answers to the assignment's questions, which `grader show multi_head_attention --questions`
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


def try_projections() -> None:
    layer = MultiHeadAttention(d_model=32, n_heads=4)
    count = sum(parameter.numel() for parameter in layer.parameters())
    assert count >= 4 * 32 * 32, f"expected four 32 x 32 projections, got {count} parameters"


def try_heads() -> None:
    x = torch.arange(24.0).reshape(1, 3, 8)
    heads = split_heads(x, n_heads=2)
    assert heads.shape == (1, 2, 3, 4), f"expected (1, 2, 3, 4), got {tuple(heads.shape)}"
    assert torch.equal(heads[0, 1, 0], x[0, 0, 4:]), "head 1 of position 0 holds other features"
    assert torch.equal(merge_heads(heads), x), "merge_heads does not undo split_heads"


def try_attention() -> None:
    torch.manual_seed(42)  # the numbers of the lesson's trace
    query, key, value = torch.randn(4, 8), torch.randn(4, 8), torch.randn(4, 8)
    output, weights = scaled_dot_product_attention(query, key, value)
    expected = torch.tensor([0.1942, 0.4102, 0.3242, 0.0714])
    assert torch.allclose(weights[0], expected, atol=1e-4), f"row 0 of the weights: {weights[0]}"
    assert output.shape == (4, 8), f"expected (4, 8), got {tuple(output.shape)}"


def try_layer() -> None:
    layer, x = MultiHeadAttention(d_model=32, n_heads=4), torch.randn(1, 6, 32)
    output, weights = layer(x, x, x)
    assert output.shape == (1, 6, 32), f"expected (1, 6, 32), got {tuple(output.shape)}"
    assert weights.shape == (1, 4, 6, 6), f"expected (1, 4, 6, 6), got {tuple(weights.shape)}"


def self_test() -> None:
    """Try milestones 1 to 4 on one small case each and say how far you are."""
    for number, attempt in enumerate((try_projections, try_heads, try_attention, try_layer), 1):
        try:
            attempt()
            result = "looks right"
        except NotImplementedError as error:
            result = f"still to write ({error})"
        except AssertionError as error:
            result = f"not right yet: {error}"
        print(f"milestone {number}: {result}")
    print(f"milestone 5: {len(ANSWERS)} questions answered")


if __name__ == "__main__":
    self_test()
