"""Frames: what is sent arrives, and nothing but an honest frame is read."""

import json
import math
import socket
import threading
import time
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.worker import protocol
from grader.worker.answers import Fields, Foreign, read_answer
from grader.worker.protocol import Channel, ProtocolError

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
)
trees = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


def through(value):
    """The value as the trusted side reads it from a worker's answer."""
    encoder = protocol.Encoder()
    head = json.dumps({"id": 1, "value": encoder.encode(value)}).encode()
    body = protocol.save(encoder.tensors) if encoder.tensors else b""
    return read_answer(head, body)[1]


@given(trees)
def test_values_arrive_as_they_were(value):
    assert through(value) == value


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_infinite_numbers_arrive(value):
    assert through(value) == value


def test_nan_arrives():
    assert math.isnan(through([math.nan])[0])


@settings(deadline=None)
@given(
    shape=st.lists(st.integers(0, 4), max_size=4),
    dtype=st.sampled_from(sorted(protocol.DTYPES, key=str)),
)
def test_tensors_arrive_as_they_were(shape, dtype):
    tensor = (torch.randn(shape) * 3).to(dtype)
    (got,) = through((tensor,))
    assert got.dtype == dtype
    assert torch.equal(got, tensor)


@pytest.mark.parametrize(
    "view",
    [
        lambda t: t.transpose(0, 1),
        lambda t: t[::2, 1:],
        lambda t: t[:1].expand(3, 4),
        lambda t: t.requires_grad_(True) * 1,
    ],
)
def test_views_arrive_contiguous_and_whole(view):
    tensor = view(torch.randn(4, 4))
    got = through(tensor)
    assert got.is_contiguous()
    assert torch.equal(got, tensor.detach())


def test_a_request_keeps_the_layout_of_a_transposed_tensor():
    tensor = torch.randn(2, 3, 4).permute(2, 0, 1)
    encoder = protocol.Encoder(keep_layout=True)
    got = protocol.decode(encoder.encode(tensor), encoder.tensors)
    assert torch.equal(got, tensor)
    assert got.stride() == tensor.stride()


@pytest.mark.parametrize(
    "tensor",
    [
        torch.zeros(2, dtype=torch.complex64),
        torch.eye(2).to_sparse(),
        torch.zeros(2, device="meta"),
    ],
)
def test_unusual_tensors_are_only_described(tensor):
    got = through(tensor)
    assert isinstance(got, Foreign)
    assert got.type == "torch.Tensor"


def test_objects_are_only_described():
    class Odd:
        def __repr__(self):
            raise RuntimeError

    assert through(Odd()).text == "(its repr raised RuntimeError)"
    assert isinstance(through(10**30), Foreign)


def test_lone_surrogates_do_not_travel():
    assert "\ud800" not in through("a\ud800b")


def test_values_that_are_too_deep_or_too_many_are_refused():
    deep = []
    for _ in range(protocol.MAX_DEPTH + 2):
        deep = [deep]
    with pytest.raises(ProtocolError, match="deeper"):
        protocol.Encoder().encode(deep)
    with pytest.raises(ProtocolError, match="more than"):
        protocol.Encoder().encode(list(range(protocol.MAX_NODES + 1)))
    endless = []
    endless.append(endless)
    with pytest.raises(ProtocolError):
        protocol.Encoder().encode(endless)


Pair = namedtuple("Pair", "output weights")


@dataclass
class Result:
    output: torch.Tensor
    weights: torch.Tensor


class Bag:
    def __init__(self, output, weights):
        self.output, self.weights, self._hidden = output, weights, object()

    @property
    def other(self):
        raise AssertionError("nobody asked for it")


@pytest.mark.parametrize(
    "make", [Pair, Result, Bag, lambda o, w: SimpleNamespace(output=o, weights=w)]
)
def test_an_object_with_fields_arrives_as_a_tuple_that_knows_their_names(make):
    value = make(torch.zeros(2), torch.ones(3))
    got = through(value)
    assert isinstance(got, Fields)
    assert got.names == ("output", "weights")
    assert got.type == type(value).__name__
    assert got.unpacks is (make is Pair)
    assert [tuple(tensor.shape) for tensor in got] == [(2,), (3,)]


def test_a_mapping_that_is_a_class_of_its_own_arrives_as_a_dict():
    class Output(OrderedDict):
        pass

    assert through(Output(logits=1)) == {"logits": 1}


class Large:
    def __init__(self):
        self.__dict__ = {f"a{i}": torch.zeros(1) for i in range(30)}


@pytest.mark.parametrize(
    "value",
    [SimpleNamespace(loss=1.0), Large(), lambda: 1, Bag, torch.optim.SGD([torch.zeros(1)], lr=1.0)],
    ids=["without tensors", "too large", "function", "class", "optimizer"],
)
def test_what_is_no_simple_object_is_described(value):
    assert isinstance(through(value), Foreign)


HEADERS = [
    b"",
    b"[]",
    b"{",
    b'{"id": "1", "value": 1}',
    b'{"id": 1, "value": {"k": "pickle", "v": 1}}',
    b'{"id": 1, "value": 1, "extra": 1}',
    b'{"id": 1, "value": {"k": "tensor", "i": "0", "grad": false}}',
    b'{"id": 1, "value": {"k": "tensor", "i": "0", "grad": 1}}',
    b'{"id": 1, "value": NaN}',
    b'{"id": 1, "value": {"k": "ref", "n": -1, "type": "x"}}',
    b'{"id": 1, "value": {"k": "dict", "v": [[1]]}}',
    b'{"id": 1, "value": {"k": "dict", "v": [[{"k": "list", "v": []}, 1]]}}',
    b'{"id": 1, "value": {"k": "fields", "type": "A", "unpacks": true, "names": [], "v": [1]}}',
    b'{"id": 1, "value": {"k": "fields", "type": "A", "names": ["a"], "v": [1]}}',
    b'{"id": 1, "value": {"k": "fields", "type": "A", "unpacks": true, "names": [1], "v": [1]}}',
    b'{"id": 1, "value": "\\ud800"}',
    b'{"id": 1, "fault": {"type": "E", "message": "m", "frames": [{"file": "f", "line": 0}]}}',
    b'{"id": 1, "value": ' + b'{"k":"list","v":[' * 5000 + b"]}" * 5000 + b"}",
    b"\xff\xfe",
]


@pytest.mark.parametrize("head", HEADERS, ids=range(len(HEADERS)))
def test_malformed_headers_are_refused(head):
    with pytest.raises(ProtocolError):
        read_answer(head, b"")


@pytest.mark.parametrize(
    "body",
    [
        b"x",
        b"\xff" * 8 + b"{}",
        (50).to_bytes(8, "little") + b'{"0":{"dtype":"F32","shape":[4],"data_offsets":[0,4]}}',
        (2).to_bytes(8, "little") + b"[]",
    ],
)
def test_malformed_bodies_are_refused(body):
    with pytest.raises(ProtocolError):
        read_answer(b'{"id": 1, "value": 1}', body)


@settings(max_examples=200)
@given(head=st.binary(max_size=60), body=st.binary(max_size=60))
def test_any_bytes_are_an_answer_or_refused(head, body):
    try:
        read_answer(head, body)
    except ProtocolError:
        pass


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    yield Channel(ours), theirs
    ours.close()
    theirs.close()


def test_a_frame_goes_through_the_socket(pair):
    channel, theirs = pair
    frame = protocol.pack({"id": 1}, {"0": torch.ones(3)})
    threading.Thread(target=theirs.sendall, args=(frame,)).start()
    head, body = channel.receive(time.monotonic() + 5)
    assert json.loads(head) == {"id": 1}
    assert body


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\n\r\n",
        protocol.PREFIX.pack(b"TGF1", protocol.MAX_HEADER + 1, 0),
        protocol.PREFIX.pack(b"TGF1", 10, protocol.MAX_BODY + 1),
        protocol.PREFIX.pack(b"TGF2", 10, 10),
    ],
)
def test_what_is_no_frame_is_refused_before_it_is_read(pair, data):
    channel, theirs = pair
    theirs.sendall(data)
    with pytest.raises(ProtocolError, match=r"frame"):
        channel.receive(time.monotonic() + 5)


def test_a_frame_that_stops_in_the_middle_ends_with_the_deadline(pair):
    channel, theirs = pair
    theirs.sendall(protocol.PREFIX.pack(b"TGF1", 100, 0) + b"{")
    with pytest.raises(protocol.DeadlinePassed):
        channel.receive(time.monotonic() + 0.1)


def test_a_closed_socket_is_told(pair):
    channel, theirs = pair
    theirs.close()
    with pytest.raises(protocol.ConnectionEnded):
        channel.receive(time.monotonic() + 5)


@pytest.mark.parametrize(
    "shape",
    [[2**63 + 5, 0], [1_000_000, 0], [0, 2**40], [1] * 40, [-1]],
    ids=["overflow", "many rows", "long rows", "many axes", "negative"],
)
def test_shapes_that_cost_more_than_they_hold_are_refused(shape):
    size = 4 if 0 not in shape else 0
    header = json.dumps({"0": {"dtype": "F32", "shape": shape, "data_offsets": [0, size]}}).encode()
    body = len(header).to_bytes(8, "little") + header + b"\0" * size
    head = json.dumps({"id": 1, "value": {"k": "tensor", "i": "0", "grad": False}}).encode()
    with pytest.raises(ProtocolError):
        read_answer(head, body)


def test_headers_that_cost_more_than_they_say_are_refused():
    nodes = ",".join(["{}"] * 300_000)
    head = f'{{"id": 1, "value": {{"k": "list", "v": [{nodes}]}}}}'.encode()
    with pytest.raises(ProtocolError, match="too many items"):
        read_answer(head, b"")
    entries = {
        str(i): {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(30_000)
    }
    header = json.dumps(entries).encode()
    body = len(header).to_bytes(8, "little") + header
    with pytest.raises(ProtocolError, match="too many tensors"):
        read_answer(b'{"id": 1}', body)


@pytest.mark.parametrize("dtype", sorted(protocol.DTYPES, key=str))
def test_the_body_is_safetensors_as_the_library_reads_it(dtype):
    tensors = {"0": (torch.randn(3, 4) * 3).to(dtype).T, "1": torch.zeros(0, 2, dtype=dtype)}
    got = safetensors.torch.load(protocol.save(tensors))
    assert got.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert got[name].dtype == dtype
        assert torch.equal(got[name], tensor)


def test_a_view_that_negates_arrives_negated():
    negated = torch.tensor([1 + 2j]).conj().imag
    assert negated.is_neg()
    assert torch.equal(through(negated), torch.tensor([-2.0]))


def test_frames_that_come_at_once_are_read_one_by_one(pair):
    channel, theirs = pair
    theirs.sendall(protocol.pack({"id": 1}, {"0": torch.ones(3)}) + protocol.pack({"id": 2}, {}))
    for number in (1, 2):
        head, body = channel.receive(time.monotonic() + 5)
        assert json.loads(head) == {"id": number}
        assert bool(body) is (number == 1)


def test_places_in_memory_are_left_out_of_what_a_reader_sees():
    for value in ((item for item in "ab"), lambda: None, object(), torch.nn.Linear(1, 1).forward):
        text = through(value).text
        assert " at 0x" not in text
        assert " at 0x" in repr(value) or "Linear" in text
