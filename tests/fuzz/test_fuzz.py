"""Any bytes of a worker, and any texts of a submission: nothing but a plain refusal comes of them."""

import json
import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.harness import feed_answer, feed_frames, feed_writers

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
hostile = st.sampled_from(
    [
        "\x1b[2J\x1b]0;owned\x07", "::error::owned", "::set-output name=x::y", "##[error]x",
        "=HYPERLINK(\"x\")", "+1+1", "-1", "@SUM(1)", "'=1", "\t=1", "\r\n=1", "<script>x</script>",
        "[bold]x[/bold]", "[/]", "a\nb", "\"quoted\", and more", "\u202e reversed", "\x00", "\x9b1m",
        "x" * 500, "\ud7ff\ue000", "| a | b |", "`code`", "{{ x }}", "%s %d", "\\x1b",
    ]
)  # fmt: skip
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts
kinds = st.sampled_from(
    ["tensor", "float", "tuple", "list", "dict", "fields", "object", "ref", "x"]
)
nodes = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.fixed_dictionaries(
            {"k": kinds},
            optional={
                "i": texts, "grad": inner, "v": st.lists(inner, max_size=3) | inner, "n": scalars,
                "type": inner, "text": texts, "names": st.lists(texts, max_size=3), "unpacks": inner,
            },
        )
    ),
    max_leaves=8,
)  # fmt: skip
headers = st.fixed_dictionaries(
    {},
    optional={
        "id": scalars, "value": nodes, "fault": nodes, "devices": nodes, "uses": nodes, "more": nodes,
    },
).map(lambda header: json.dumps(header).encode())  # fmt: skip
safetensors = st.tuples(headers | st.binary(max_size=80), st.binary(max_size=40)).map(
    lambda parts: struct.pack("<Q", len(parts[0])) + parts[0] + parts[1]
)
bodies = st.just(b"") | st.binary(max_size=60) | safetensors
frames = st.tuples(
    st.just(b"TGF1") | st.binary(min_size=4, max_size=4),
    headers | st.binary(max_size=60),
    bodies,
    st.integers(-3, 3) | st.integers(0, 2**31),
).map(
    lambda f: (
        f[0]
        + struct.pack(
            ">IQ", max(0, min(len(f[1]) + (f[3] if f[3] < 4 else 0), 2**32 - 1)), len(f[2])
        )
        + f[1]
        + f[2]
    )
)


@settings(max_examples=150, deadline=None)
@given(headers | st.binary(max_size=80), bodies)
def test_a_header_and_a_body_are_an_answer_or_refused(head, body):
    feed_answer(head, body)


@settings(max_examples=100, deadline=None)
@given(st.lists(frames | st.binary(max_size=60), max_size=4).map(b"".join))
def test_any_bytes_on_the_socket_are_frames_or_refused(data):
    feed_frames(data)


def test_the_fuzzers_frames_can_be_answers():
    head = json.dumps({"id": 1, "value": {"k": "tuple", "v": [1, "x"]}}).encode()
    assert feed_frames(2 * (b"TGF1" + struct.pack(">IQ", len(head), 0) + head)) == 2


@settings(max_examples=50, deadline=None)
@given(st.lists(texts | hostile, min_size=1, max_size=12))
def test_any_texts_are_written_and_read_back_and_steer_nothing(written):
    feed_writers(written)
