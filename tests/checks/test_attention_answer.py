"""What attention returns: output and weights are told apart by shape, content and name."""

from types import SimpleNamespace

import pytest
import torch

from grader.checks.attention import ask_attention, attention_answer
from grader.checks.blocks import block_output
from grader.checks.classifier import logits
from grader.errors import CheckFailure
from grader.worker.answers import Fields

OUTPUT, WEIGHTS = torch.randn(2, 3, 5), torch.rand(2, 3, 4).softmax(-1)
SQUARE = torch.randn(2, 3, 4)  # an output of the weights' shape


def fields(unpacks=False, **named):
    return Fields.of(named, named.values(), "Result", unpacks)


FORMS = {
    "tuple": (lambda o, w: (o, w), None),
    "reversed": (
        lambda o, w: (w, o),
        "(weights, output); the assignment's order is (output, weights)",
    ),
    "list": (lambda o, w: [o, w], "a list; the assignment asks for the tuple (output, weights)"),
    "dict": (
        lambda o, w: {"weights": w, "output": o},
        "a dict; the assignment asks for the tuple (output, weights)",
    ),
    "nested": (lambda o, w: (o, {"attn": w}), None),
    "namedtuple": (lambda o, w: fields(True, output=o, weights=w), None),
    "namedtuple reversed": (
        lambda o, w: fields(True, attn=w, out=o),
        "(weights, output); the assignment's order is (output, weights)",
    ),
    "object": (
        lambda o, w: fields(attn=w, out=o),
        "`Result`; the assignment asks for the tuple (output, weights)",
    ),
    "with more": (lambda o, w: (o, w, torch.zeros(7), None, "text"), None),
}


@pytest.mark.parametrize(("make", "form"), FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("output", [OUTPUT, SQUARE], ids=["other shape", "same shape"])
def test_output_and_weights_are_told_apart_in_every_form(make, form, output):
    answer = attention_answer(make(output, WEIGHTS), output.shape, WEIGHTS.shape)
    assert answer.output is output
    assert answer.weights is WEIGHTS
    assert answer.form == form


def test_an_output_alone_is_no_other_form():
    answer = attention_answer(SQUARE, SQUARE.shape, SQUARE.shape)
    assert (answer.output is SQUARE, answer.weights, answer.form) == (True, None, None)


@pytest.mark.parametrize(
    "names",
    [("weights", "output"), ("attn", "attn_output"), ("scores", "x"), ("alpha", "context")],
)
def test_names_tell_where_neither_content_nor_shape_does(names):
    scores, output = torch.randn(2, 3, 4), torch.randn(2, 3, 4)
    answer = attention_answer(dict(zip(names, (scores, output), strict=True)), *[output.shape] * 2)
    assert answer.output is output
    assert answer.weights is scores


@pytest.mark.parametrize("both", [torch.randn(2, 3, 4), torch.rand(2, 3, 4).softmax(-1)])
def test_the_first_is_the_output_where_nothing_tells(both):
    first, second = both.clone(), both.clone()
    answer = attention_answer((first, second), both.shape, both.shape)
    assert answer.output is first
    assert answer.weights is second
    assert answer.form is None


def test_of_several_tensors_of_the_weights_shape_those_that_sum_to_1_are_the_weights():
    scores = torch.randn(2, 3, 4)
    answer = attention_answer((OUTPUT, scores, WEIGHTS), OUTPUT.shape, WEIGHTS.shape)
    assert answer.weights is WEIGHTS


def test_weights_alone_are_no_output():
    answer = attention_answer(WEIGHTS, OUTPUT.shape, WEIGHTS.shape)
    assert answer.output is None
    assert answer.weights is WEIGHTS


def test_another_form_is_noted_and_the_usual_one_is_not():
    notes = []

    class Attend(SimpleNamespace):
        def __call__(self, *_):
            return self.returned

    for returned in ((OUTPUT, WEIGHTS), [OUTPUT, WEIGHTS]):
        attend = Attend(returned=returned, spelling="attend", note=notes.append)
        ask_attention(attend, None, None, None, None, OUTPUT.shape, WEIGHTS.shape)
    assert notes == [
        "`attend` returns a list; the assignment asks for the tuple (output, weights)."
    ]


def block(returned):
    """Stands for a block that returns that."""
    return SimpleNamespace(call=lambda *_, **__: SimpleNamespace(returned=returned))


def test_a_block_may_return_an_object_whose_first_tensor_is_the_output():
    for returned in (fields(out=OUTPUT, attn=WEIGHTS), fields(loss=None, out=OUTPUT)):
        assert block_output(block(returned), OUTPUT) is OUTPUT


def test_a_block_that_returns_a_dict_is_told_that_a_tensor_is_asked():
    with pytest.raises(CheckFailure, match="It returns a dict; the assignment asks for a tensor"):
        block_output(block({"out": WEIGHTS}), OUTPUT)


def test_a_model_may_return_an_object_whose_first_tensor_are_the_logits():
    scores, ids = torch.randn(2, 3), torch.zeros(2, 4)
    assert logits(lambda _: fields(loss=None, logits=scores), ids, 3) is scores
