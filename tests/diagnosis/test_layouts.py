"""Layouts of an attention's parameters: the right reading is among few, the usual one first."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.diagnosis.blocks import D_MODEL, LIKELY, N_HEADS
from grader.diagnosis.layouts import MAX_LAYOUTS, attention_layouts, bias_layouts
from tests.diagnosis.spelled import role_of, shape_of

D, H, K = D_MODEL, N_HEADS, D_MODEL // N_HEADS
LINEAR = {"q": ("q", "HK I"), "k": ("k", "HK I"), "v": ("v", "HK I"), "o": ("o", "I HK")}
OUT = {"o": ("o", "I HK")}
LAYOUTS = {
    "four Linears": LINEAR,
    "four Linears of other names": dict(zip("abcd", LINEAR.values(), strict=True)),
    "four Linears, the output's first": {"o": ("o", "I HK"), **LINEAR},
    "x @ W": {"a": ("q", "I HK"), "b": ("k", "I HK"), "c": ("v", "I HK"), "d": ("o", "HK I")},
    "heads interleaved": {
        "q": ("q", "KH I"), "k": ("k", "KH I"), "v": ("v", "KH I"), "o": ("o", "I KH"),
    },
    "one for key and value": {"q": ("q", "HK I"), "kv": ("kv", "RHK I"), **OUT},
    "one for key and value, by head": {"q": ("q", "HK I"), "kv": ("vk", "HRK I"), **OUT},
    "one for query and key": {"qk": ("qk", "RHK I"), "v": ("v", "HK I"), **OUT},
    "3-D by head": {
        "q": ("q", "H I K"), "k": ("k", "H I K"), "v": ("v", "H I K"), "o": ("o", "H K I"),
    },
    "3-D by head, as in Linear": {
        "q": ("q", "H K I"), "k": ("k", "H K I"), "v": ("v", "H K I"), "o": ("o", "I H K"),
    },
    "4-D by role": {"w": ("qkv", "R H K I"), "out": ("o", "H K I")},
    "4-D by head": {"w": ("kqv", "H R K I"), "out": ("o", "HK I")},
    "3-D by role": {"w": ("qkv", "R I HK"), **OUT},
    "one for all four": {"w": ("qkvo", "R HK I", "R I HK")},
    "one for all four, all alike": {"w": ("kqvo", "RHK I")},
    "one for all four, x @ W": {"w": ("qkvo", "R I HK", "R HK I")},
    "one of five dimensions": {"w": ("qkvo", "R H K I")},
}  # fmt: skip
FUSED = {
    f"{''.join(roles)} {axes}": {"qkv": ("".join(roles), axes), **OUT}
    for roles in itertools.permutations("qkv")
    for axes in ("RHK I", "HRK I", "HKR I", "I RHK", "I HRK", "RKH I", "KHR I")
}


def right_kind(found):
    """Interleaved heads come out of an output projection that takes them so."""
    return {
        name: (roles, "I KH") if name == "o" and "KH" in found["qkv"][1] else (roles, *axes)
        for name, (roles, *axes) in found.items()
    }


def values_of(spelled):
    torch.manual_seed(0)
    return {name: torch.randn(shape_of(*entry[:2])) for name, entry in spelled.items()}


def truth(spelled, values):
    """The matrices as in `nn.Linear`, heads one after the other."""
    found = {}
    for name, (roles, axes, *of_output) in spelled.items():
        for role in roles:
            chosen = of_output[0] if of_output and role == "o" else axes
            rows = role_of(values[name], roles, chosen, role).reshape(D, D)
            found[role] = rows.T if role == "o" else rows
    return found


def agrees(layout, values, wanted):
    return all(torch.equal(layout[role](values), matrix) for role, matrix in wanted.items())


def layouts_of(values):
    return attention_layouts({name: value.shape for name, value in values.items()}, D, H)


def is_found(spelled):
    values = values_of(spelled)
    wanted = truth(spelled, values)
    return any(agrees(layout, values, wanted) for layout in layouts_of(values))


@pytest.mark.parametrize("spelled", LAYOUTS.values(), ids=LAYOUTS)
def test_the_right_reading_is_among_the_layouts(spelled):
    assert is_found(spelled)


@pytest.mark.parametrize("spelled", FUSED.values(), ids=FUSED)
def test_a_fused_projection_is_read_in_any_order_of_roles_heads_and_features(spelled):
    assert is_found(right_kind(spelled))


@given(order=st.permutations("RHKI"), cut=st.integers(1, 3), roles=st.permutations("qkv"))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_any_order_of_axes_is_read_wherever_it_is_cut(order, cut, roles):
    axes = "".join(order[:cut]) + " " + "".join(order[cut:])
    apart = not any(pair in axes for pair in ("HK", "KH")) and "H" in axes
    joined = order.index("K") < order.index("H") and len({"H", "K"} & set(axes.split()[0])) != 1
    output = "I H K" if apart else "I KH" if joined else "I HK"
    assert is_found({"w": ("".join(roles), axes), "o": ("o", output)})


@pytest.mark.parametrize("order", list(itertools.permutations("qkvo")), ids="".join)
def test_names_say_the_roles_before_anything_else_does(order):
    names = {"q": "w_q.weight", "k": "w_k.weight", "v": "w_v.weight", "o": "w_o.weight"}
    spelled = {names[role]: LINEAR[role] for role in order}
    values = values_of(spelled)
    likely = itertools.islice(layouts_of(values), LIKELY)
    assert any(agrees(layout, values, truth(spelled, values)) for layout in likely)


def test_pytorchs_own_layer_is_read_at_once():
    spelled = {"in_proj_weight": ("qkv", "RHK I"), "out_proj.weight": ("o", "I HK")}
    values = values_of(spelled)
    assert agrees(next(layouts_of(values)), values, truth(spelled, values))


@pytest.mark.parametrize("spelled", LAYOUTS.values(), ids=LAYOUTS)
def test_no_more_layouts_are_tried_than_allowed(spelled):
    values = values_of(spelled)
    assert 0 < len(list(layouts_of(values))) <= MAX_LAYOUTS


def assert_read(values, wanted):
    assert any(agrees(layout, values, wanted) for layout in layouts_of(values))


@pytest.mark.parametrize("pattern", ["{role}.{head}.weight", "heads.{head}.{role}.weight"])
@pytest.mark.parametrize("order", ["qkv", "kqv", "vkq"])
def test_heads_of_a_list_are_read_role_by_role_or_head_by_head(pattern, order):
    places = itertools.product(order, range(H))
    if pattern.startswith("heads"):
        places = [(role, head) for head in range(H) for role in order]
    values = {pattern.format(role=r, head=h): torch.randn(K, D) for r, h in places}
    wanted = {
        role: torch.cat([values[pattern.format(role=role, head=h)] for h in range(H)])
        for role in "qkv"
    }
    values["o"] = torch.randn(D, D)
    assert_read(values, {**wanted, "o": values["o"]})


def test_axes_of_size_one_do_not_count():
    values = {name: torch.randn(D, D, 1) for name in "abcd"}
    wanted = {role: values[name].squeeze() for role, name in zip("qkvo", "abcd", strict=True)}
    assert_read(values, wanted)


@pytest.mark.parametrize("order", list(itertools.permutations("qkvo")), ids="".join)
def test_four_alike_are_read_in_any_order_though_no_name_says_it(order):
    spelled = {name: LINEAR[role] for name, role in zip("abcd", order, strict=True)}
    assert is_found(spelled)


@pytest.mark.parametrize(
    "shapes",
    [
        {},
        {"q": (D, D), "k": (D, D), "v": (D, D)},
        {"q": (D, D), "k": (D, D), "v": (D, D), "o": (D, D), "more": (D, D)},
        {"qkv": (3 * D, D), "o": (D, D + 1)},
        {"qkv": (3 * D, D), "o": (D // 2, D)},
        {"qkv": (3 * D - 1, D), "o": (D, D)},
    ],
)
def test_matrices_that_are_not_four_have_no_layout(shapes):
    assert list(attention_layouts(shapes, D, H)) == []


BIASES = {
    "three vectors": {"q": ("q", "HK"), "k": ("k", "HK"), "v": ("v", "HK")},
    "one vector": {"b": ("qkv", "RHK")},
    "one vector by head": {"b": ("vkq", "HRK")},
    "3-D": {"b": ("qkv", "R H K")},
    "3-D by head": {"b": ("kqv", "H R K")},
    "query and value only": {"a": ("q", "HK"), "b": ("v", "HK")},
    "one for key and value": {"a": ("q", "HK"), "b": ("kv", "RHK")},
    "a matrix for the query only": {"a": ("q", "H K")},
}


@pytest.mark.parametrize("spelled", BIASES.values(), ids=BIASES)
def test_biases_are_read_for_those_roles_that_have_one(spelled):
    values = values_of(spelled)
    wanted = {
        role: role_of(values[name], roles, axes, role).flatten()
        for name, (roles, axes) in spelled.items()
        for role in roles
    }
    layouts = list(bias_layouts({name: v.shape for name, v in values.items()}, D, H))
    assert any(
        layout.keys() == wanted.keys() and agrees(layout, values, wanted) for layout in layouts
    )
    assert len(layouts) <= MAX_LAYOUTS


@pytest.mark.parametrize("shapes", [{}, {"b": (D + 1,)}, {"b": (5, D)}, {"b": (D // 2,)}])
def test_what_is_no_whole_number_of_biases_has_no_layout(shapes):
    assert list(bias_layouts(shapes, D, H)) == []
