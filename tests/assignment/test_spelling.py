"""Which definition of a submission stands for which name of the assignment."""

import pytest

from grader.assignment import assignment_ids, load_assignment, recognise
from grader.assignment.spelling import nearest_definition, spelled_names
from grader.assignment.usual import OTHER_NAMES
from grader.intake import read

ENCODER = load_assignment("encoder_classifier")
REVIEW = load_assignment("transformer_review")


def sources(text):
    files = text if isinstance(text, dict) else {"a.py": text}
    return read({path: content.encode() for path, content in files.items()}, "a").sources.values()


def spelled(text, name="EncoderBlock", assignment=ENCODER):
    return spelled_names(assignment, sources(text))[name]


def test_the_assignments_own_name_counts_first():
    assert spelled("class EncoderBlock: ...\nclass EncoderLayer: ...") == "EncoderBlock"


@pytest.mark.parametrize(
    "own", ["class EncoderBlock: ...", "from layers import EncoderBlock", "EncoderBlock = make()"]
)
def test_no_other_name_counts_where_the_assignments_is_bound_in_whatever_way(own):
    assert spelled({"a.py": own, "b.py": "class EncoderLayer: ..."}) == "EncoderBlock"


def test_a_class_under_another_name_counts():
    assert spelled("class EncoderLayer: ...") == "EncoderLayer"


def test_it_counts_in_whatever_module_it_is_defined():
    files = {"a.py": "from b import EncoderLayer", "b.py": "class EncoderLayer: ..."}
    assert spelled(files) == "EncoderLayer"


@pytest.mark.parametrize(
    "text",
    [
        "from torch.nn import TransformerEncoderLayer",
        "from torch.nn import TransformerEncoderLayer as EncoderLayer",
        "from torch import nn\nEncoderLayer = nn.TransformerEncoderLayer",
        "EncoderLayer = 3",
        "def EncoderLayer(): ...",
        "if __name__ == '__main__':\n    class EncoderLayer: ...",
    ],
)
def test_what_the_submission_does_not_define_as_a_class_stands_for_no_module(text):
    assert spelled(text) == "EncoderBlock"


@pytest.mark.parametrize("text", ["def fit(m): ...", "fit = lambda m: m"])
def test_a_function_may_be_a_lambda(text):
    assert spelled(text, "train") == "fit"


@pytest.mark.parametrize("text", ["class fit: ...", "fit = run(model)"])
def test_neither_a_class_nor_a_value_stands_for_a_function(text):
    assert spelled(text, "train") == "train"


def test_the_last_binding_of_a_name_decides():
    assert spelled("def fit(m): ...\nfit = make(fit)", "train") == "train"


def test_a_result_under_the_name_of_its_function_decides_nothing():
    assert spelled("def fit(m): ...\nfit = fit(model)", "train") == "fit"


def test_of_several_other_names_the_likeliest_that_is_written_counts():
    assert spelled("class TransformerBlock: x = 1\nclass EncoderLayer: x = 1") == "EncoderLayer"
    stub = "class EncoderLayer:\n    def forward(self): raise NotImplementedError\n"
    assert spelled(stub + "class TransformerBlock: x = 1") == "TransformerBlock"


@pytest.mark.parametrize("near", ["encoder_block", "Encoderblock"])
def test_a_misspelling_is_asked_for_and_neither_used_nor_passed_over(near):
    text = f"class {near}: ...\nclass EncoderLayer: ..."
    assert spelled(text) == "EncoderBlock"
    assert nearest_definition(ENCODER, "EncoderBlock", sources(text)).name == near


def test_a_rubric_adds_names_before_the_usual_ones():
    first = ENCODER.components[2].model_copy(update={"other_names": ("Layer",)})
    other = ENCODER.model_copy(update={"components": (first,)})
    assert spelled("class Layer: ...\nclass EncoderLayer: ...", assignment=other) == "Layer"


def test_where_other_names_cost_they_are_what_is_meant_and_not_used():
    strict = ENCODER.model_copy(update={"other_names": "costs"})
    assert spelled("class EncoderLayer: ...", assignment=strict) == "EncoderBlock"
    near = nearest_definition(strict, "EncoderBlock", sources("class EncoderLayer: ..."))
    assert near.name == "EncoderLayer"


def test_an_imported_class_is_not_taken_for_a_misspelling():
    text = "from torch.nn import MultiheadAttention"
    assert nearest_definition(REVIEW, "MultiHeadAttention", sources(text)) is None


def test_a_definition_that_stands_for_one_name_is_not_near_another():
    near = nearest_definition(REVIEW, "EncoderBlock", sources("class DecoderLayer: ..."))
    assert near is None


@pytest.mark.parametrize("name", assignment_ids())
def test_every_definition_of_the_bundled_assignments_has_other_names(name):
    assert set(load_assignment(name).names) <= OTHER_NAMES.keys()


def test_an_assignment_is_recognised_by_other_names_too():
    text = "class MultiHeadedAttention: ...\nclass EncoderLayer: ...\nclass DecoderLayer: ...\n"
    text += "def attention(): ...\ndef subsequent_mask(): ...\n"
    assert recognise(read({"a.py": text.encode()}, "a")).id == "transformer_review"
