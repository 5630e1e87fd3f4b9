"""The roles of parameters are found whatever the layout; agreement is then proof."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from grader.diagnosis import read_by_gradients, read_by_name
from reference import MultiHeadAttention
from reference.misconceptions.layer import layer


class FusedByHead(nn.Module):
    """Raw 4-D parameters: heads first, then q, k, v."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        d_k = d_model // n_heads
        self.weight = nn.Parameter(torch.empty(n_heads, 3, d_k, d_model))
        self.bias = nn.Parameter(torch.empty(n_heads, 3, d_k))
        self.out = nn.Parameter(torch.empty(n_heads, d_k, d_model))

    def forward(self, query, key, value):
        q, k, v = (
            torch.einsum("btd,hkd->bhtk", x, self.weight[:, i]) + self.bias[:, i, None]
            for i, x in enumerate((query, key, value))
        )
        weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        return torch.einsum("bhtk,hkd->btd", weights @ v, self.out), weights


class Strided(nn.Module):
    """Head h owns the features h, h + H, …"""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.a, self.b, self.c, self.d = (nn.Linear(d_model, d_model, bias=b) for b in (1, 0, 1, 0))

    def forward(self, query, key, value):
        def split(x):
            return x.unflatten(-1, (-1, self.n_heads)).permute(0, 3, 1, 2)

        q, k, v = split(self.a(query)), split(self.b(key)), split(self.c(value))
        weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        return self.d((weights @ v).permute(0, 2, 3, 1).flatten(2)), weights


class Transposed(nn.Module):
    """x @ W, one matrix for key and value, which comes before the query's."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.kv = nn.Parameter(torch.empty(d_model, 2 * d_model))
        self.q = nn.Parameter(torch.empty(d_model, d_model))
        self.o = nn.Conv1d(d_model, d_model, 1)

    def forward(self, query, key, value):
        d = self.q.shape[0]

        def split(x):
            return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        q, k, v = split(query @ self.q), split(key @ self.kv[:, d:]), split(value @ self.kv[:, :d])
        weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        merged = (weights @ v).transpose(1, 2).flatten(2)
        return self.o(merged.transpose(1, 2)).transpose(1, 2), weights


LAYOUTS = {
    "separate": MultiHeadAttention,
    "biased": lambda d, h: MultiHeadAttention(d, h, bias=True),
    "fused by head": FusedByHead,
    "strided heads": Strided,
    "transposed": Transposed,
}


def read(module, d_model, n_heads, random):
    """A reading by gradients, tried with a few sets of random parameters as a check does."""
    for _ in range(4):
        for parameter in module.parameters():
            sign = torch.randint(0, 2, parameter.shape, generator=random) * 2 - 1
            parameter.data = sign * (0.3 + 0.7 * torch.rand(parameter.shape, generator=random))

        def gradients(query, key, value, probe):
            names, leaves = zip(*module.named_parameters(), strict=True)
            output = module(query, key, value)[0]
            found = torch.autograd.grad((output * probe).sum(), leaves, allow_unused=True)
            return dict(zip(names, found, strict=True))

        values = {name: p.detach() for name, p in module.named_parameters()}
        reading = read_by_gradients(values, gradients, d_model, n_heads, random)
        if reading is not None:
            return reading
    return None


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(deadline=None, derandomize=True, max_examples=12)
@given(seed=st.integers(0, 2**31), n_heads=st.sampled_from([1, 2, 3, 6]))
def test_every_layout_is_read_by_gradients(layout, seed, n_heads):
    random = torch.Generator().manual_seed(seed)
    module = LAYOUTS[layout](6, n_heads)
    reading = read(module, 6, n_heads, random)
    assert reading is not None
    query, key = torch.randn(2, 3, 6, generator=random), torch.randn(2, 4, 6, generator=random)
    value = torch.randn(2, 4, 6, generator=random)
    expected = module(query, key, value)[0]
    got = layer(reading.weights, n_heads, query, key, value)[0]
    torch.testing.assert_close(got, expected, rtol=1e-3, atol=1e-3)


def test_what_is_no_attention_is_not_read():
    class Linear(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 18)

        def forward(self, query, key, value):
            return self.a(query) + self.b(value).sum(1, keepdim=True)[..., :6], None

    assert read(Linear(), 6, 2, torch.Generator().manual_seed(0)) is None


@pytest.mark.parametrize(
    "names",
    [
        ("q_proj", "k_proj", "v_proj", "out_proj"),
        ("W_q", "W_k", "W_v", "W_o"),
        ("query", "key", "value", "out"),
        ("wo", "wv", "wk", "wq"),
        ("first", "second", "third", "fourth"),
    ],
)
def test_names_and_else_the_order_are_read(names):
    order = dict(zip(names, "qkvo", strict=True))
    if names[0] == "wo":
        order = {"wo": "o", "wv": "v", "wk": "k", "wq": "q"}
    parameters = {f"{name}.weight": torch.randn(6, 6) for name in names}
    parameters[f"{names[0]}.bias"] = torch.randn(6)
    reading = read_by_name(parameters, 6)
    for name, role in order.items():
        assert torch.equal(reading.weights[role], parameters[f"{name}.weight"])
    assert torch.equal(reading.weights["b" + order[names[0]]], parameters[f"{names[0]}.bias"])
