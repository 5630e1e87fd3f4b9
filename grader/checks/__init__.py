"""Assertions about behaviour, usable by any assignment's tests.

Each raises `CheckFailure` with what was expected beside what came, as small as it gets.
"""

from grader.checks.attention import (
    AttentionAnswer,
    assert_attention,
    assert_in_any_dimensions,
    assert_mask,
    assert_weights,
    attention_answer,
)
from grader.checks.cost import assert_quadratic, assert_towards_quadratic
from grader.checks.draw import Draw
from grader.checks.heads import assert_merge, assert_split
from grader.checks.known_layer import assert_known_weights
from grader.checks.layer import (
    assert_layer_gradients,
    layer_answer,
    random_layer,
)
from grader.checks.masks import unless_inverted
from grader.checks.parameters import assert_parameter_count, assert_trainable, built
from grader.checks.tensors import assert_close, assert_tensor, means, same_inputs, show

__all__ = [
    "AttentionAnswer",
    "Draw",
    "assert_attention",
    "assert_close",
    "assert_in_any_dimensions",
    "assert_known_weights",
    "assert_layer_gradients",
    "assert_mask",
    "assert_merge",
    "assert_parameter_count",
    "assert_quadratic",
    "assert_split",
    "assert_tensor",
    "assert_towards_quadratic",
    "assert_trainable",
    "assert_weights",
    "attention_answer",
    "built",
    "layer_answer",
    "means",
    "random_layer",
    "same_inputs",
    "show",
    "unless_inverted",
]
