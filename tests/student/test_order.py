"""Arguments in another order than the assignment's: only names that leave no doubt tell."""

import pytest

from grader.assignment import load_assignment
from grader.intake import read
from grader.intake.signatures import signature_of
from grader.student.order import other_order

MHA = load_assignment("multi_head_attention")
ENCODER = load_assignment("encoder_classifier")
REVIEW = load_assignment("transformer_review")


def order(assignment, name, parameters):
    """The submission's order and the assignment's, for a function or a class's constructor."""
    component = assignment.component(name)
    text = f"def {name}({parameters}): ..."
    if component.is_module:
        text = f"class {name}:\n    def __init__(self, {parameters}): ..."
    return found(assignment, name, text, "__init__")


def found(assignment, name, text, method):
    sources = list(read({"a.py": text.encode()}, "a").sources.values())
    signature = signature_of(sources, name, (method,))
    return other_order(signature, assignment.component(name), assignment)


@pytest.mark.parametrize(
    ("assignment", "name", "parameters", "theirs", "ours"),
    [
        (MHA, "MultiHeadAttention", "n_heads, d_model", "n_heads d_model", "d_model n_heads"),
        (MHA, "MultiHeadAttention", "h, dim, bias=False", "h dim", "d_model n_heads"),
        (MHA, "split_heads", "heads, x", "heads x", "x n_heads"),
        (ENCODER, "EncoderBlock", "embed_dim, hidden_dim, nhead", "embed_dim hidden_dim nhead",
         "d_model n_heads d_ff"),
        (ENCODER, "padding_mask", "pad_idx, src", "pad_idx src", "input_ids pad_id"),
        (ENCODER, "train", "net, y, x, lr=1.0", "net y x", "model input_ids labels"),
        (REVIEW, "mean_aggregate", "adj, h", "adj h", "features adjacency"),
    ],
)  # fmt: skip
def test_another_order_is_told_in_the_submissions_names_and_the_assignments(
    assignment, name, parameters, theirs, ours
):
    assert order(assignment, name, parameters) == (theirs.split(), ours.split())


@pytest.mark.parametrize(
    ("assignment", "name", "parameters"),
    [
        (MHA, "MultiHeadAttention", "embed_dim, num_heads"),
        (MHA, "MultiHeadAttention", "a, b"),
        (MHA, "MultiHeadAttention", "n_heads, size"),
        (MHA, "MultiHeadAttention", "n_heads, device, d_model"),
        (MHA, "MultiHeadAttention", "*, n_heads, d_model"),
        (MHA, "MultiHeadAttention", "*arguments"),
        (ENCODER, "EncoderBlock", "hidden_dim, heads, ff_dim, bias=True, dropout=0.1"),
        (ENCODER, "train", "model, x, y, label_smoothing=0.1, epochs=5, lr=1.0"),
        (REVIEW, "DecoderBlock", "dim, heads, hidden_dim"),
    ],
)
def test_the_assignments_order_and_names_that_leave_doubt_say_nothing(assignment, name, parameters):
    assert order(assignment, name, parameters) is None


def test_the_order_of_forward_is_its_own():
    text = "class DecoderBlock:\n    def forward(self, enc_out, tgt, src_mask=None): ...\n"
    assert found(REVIEW, "DecoderBlock", text, "forward") == (
        ["enc_out", "tgt", "src_mask"],
        ["x", "memory", "memory_key_padding_mask"],
    )
