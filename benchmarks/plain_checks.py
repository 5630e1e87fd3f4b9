"""Plain versions of the checks of multi_head_attention, for graders that run notebooks.

Each `check_…` takes the definitions by name, and raises where something is wrong. They compare with
torch's own attention; none finds out which parameter is which, counts operations or names a
mistake, as the real checks do. They make 145 calls of the student's code, the real ones about 220.
"""

from typing import Any

import torch
from torch.nn import functional as F


def attend(env: Any, query: Any, key: Any, value: Any, mask: Any = None) -> Any:
    """What the submission's function gives, after it was compared with torch's."""
    arguments = (query, key, value) if mask is None else (query, key, value, mask)
    output, weights = env["scaled_dot_product_attention"](*arguments)
    allowed = None if mask is None else mask.bool()
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=allowed)
    torch.testing.assert_close(output, expected)
    return output, weights


def layer_of(env: Any, n_heads: int = 4, d_model: int = 32) -> Any:
    """A layer of the submission's, in eval mode."""
    return env["MultiHeadAttention"](d_model, n_heads).eval()


def check_builds(env: Any) -> None:
    for n_heads in (1, 2, 4, 8):
        layer_of(env, n_heads)


def check_parameter_count(env: Any) -> None:
    for n_heads in (1, 4):
        count = sum(p.numel() for p in layer_of(env, n_heads).parameters())
        assert count in (4 * 32 * 32, 4 * 32 * 32 + 4 * 32)


def check_count_does_not_depend_on_heads(env: Any) -> None:
    counts = {sum(p.numel() for p in layer_of(env, n).parameters()) for n in (1, 2, 4, 8)}
    assert len(counts) == 1


def check_projections_are_trainable(env: Any) -> None:
    assert all(p.requires_grad for p in layer_of(env).parameters())


def check_heads_must_divide_d_model(env: Any) -> None:
    for d_model, n_heads in ((10, 4), (32, 5)):
        try:
            env["MultiHeadAttention"](d_model, n_heads)
        except Exception:
            continue
        raise AssertionError("no error")


def check_split_heads_places_features(env: Any) -> None:
    for batch, length, n_heads, d_k in ((1, 3, 2, 4), (2, 3, 4, 2), (3, 1, 1, 6), (2, 5, 8, 1)):
        x = torch.randn(batch, length, n_heads * d_k)
        got = env["split_heads"](x, n_heads)
        assert got.shape == (batch, n_heads, length, d_k)
        for head in range(n_heads):
            assert torch.equal(got[:, head], x[..., head * d_k : (head + 1) * d_k])


def check_merge_heads_places_features(env: Any) -> None:
    for batch, length, n_heads, d_k in ((1, 3, 2, 4), (2, 3, 4, 2), (3, 1, 1, 6), (2, 5, 8, 1)):
        x = torch.randn(batch, n_heads, length, d_k)
        got = env["merge_heads"](x)
        assert torch.equal(got, torch.cat(list(x.unbind(1)), dim=-1))


def check_merge_heads_undoes_split_heads(env: Any) -> None:
    for batch, length, n_heads in ((2, 3, 4), (1, 7, 2)):
        x = torch.randn(batch, length, 16)
        assert torch.equal(env["merge_heads"](env["split_heads"](x, n_heads)), x)


def check_attention_values(env: Any) -> None:
    sizes = ((2, 3, 5, 2), (1, 2, 5, 3), (5, 7, 6, 3), (50, 50, 4, 3), (3, 300, 4, 2))
    for t_q, t_k, d_k, d_v in sizes:
        shapes = ((1, 1, t_q, d_k), (1, 1, t_k, d_k), (1, 1, t_k, d_v))
        attend(env, *map(torch.randn, shapes))


def check_attention_in_any_dimensions(env: Any) -> None:
    for leading in ((), (2,), (2, 3)):
        attend(env, *(torch.randn(*leading, *size) for size in ((3, 4), (5, 4), (5, 6))))


def check_scale_is_root_of_d_k(env: Any) -> None:
    for d_k in (64, 1, 4, 16, 10):
        shapes = ((1, 1, 2, d_k), (1, 1, 3, d_k), (1, 1, 3, 2))
        attend(env, *map(torch.randn, shapes))


def check_rows_of_weights_sum_to_one(env: Any) -> None:
    for leading in ((1, 1), (2, 3)):
        shapes = ((*leading, 3, 4), (*leading, 5, 4), (*leading, 5, 6))
        _, weights = attend(env, *map(torch.randn, shapes))
        torch.testing.assert_close(weights.sum(-1), torch.ones(*leading, 3))


def check_causal_mask_hides_the_future(env: Any) -> None:
    for length in (2, 5, 4, 3):
        x = torch.randn(1, 1, length, 2)
        attend(env, x, x, x, torch.ones(length, length).tril().bool())


def check_weights_under_a_mask(env: Any) -> None:
    x = torch.randn(2, 1, 4, 3)
    _, weights = attend(env, x, x, x, torch.ones(4, 4).tril().bool())
    assert weights.triu(1).abs().sum() == 0
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 1, 4))


def check_masks_of_any_dtype(env: Any) -> None:
    for dtype in (torch.bool, torch.float32, torch.int64):
        x = torch.randn(1, 1, 3, 4)
        attend(env, x, x, x, torch.ones(3, 3).tril().to(dtype))


def check_masks_of_any_shape(env: Any) -> None:
    shapes = (
        (3, 3, (3, 3)), (2, 4, (2, 4)), (3, 4, (2, 1, 1, 4)), (3, 4, (2, 1, 3, 4)),
        (3, 3, (2, 1, 3, 3)), (1, 4, (2, 1, 1, 4)),
    )  # fmt: skip
    for t_q, t_k, shape in shapes:
        mask = torch.rand(shape) > 0.4
        mask[..., 0] = True
        query, key, value = (torch.randn(2, 3, length, 4) for length in (t_q, t_k, t_k))
        attend(env, query, key, value, mask)


def check_hidden_keys_have_no_influence(env: Any) -> None:
    for length in (3, 6):
        query, key, value = (torch.randn(1, 1, length, 4) for _ in range(3))
        mask = torch.ones(length, length).tril().bool()
        before, _ = attend(env, query, key, value, mask)
        key[..., -1, :], value[..., -1, :] = 100.0, -100.0
        after, _ = attend(env, query, key, value, mask)
        torch.testing.assert_close(after[..., :-1, :], before[..., :-1, :])


def check_keys_are_a_set(env: Any) -> None:
    query, key, value = (torch.randn(1, 1, 5, 4) for _ in range(3))
    order = torch.randperm(5)
    before, _ = attend(env, query, key, value)
    after, _ = attend(env, query, key[..., order, :], value[..., order, :])
    torch.testing.assert_close(after, before)


def check_queries_are_independent(env: Any) -> None:
    query, key, value = (torch.randn(1, 1, 5, 4) for _ in range(3))
    whole, _ = attend(env, query, key, value)
    for place in range(5):
        one, _ = attend(env, query[..., place : place + 1, :], key, value)
        torch.testing.assert_close(one, whole[..., place : place + 1, :])


def check_large_scores_stay_finite(env: Any) -> None:
    for size in (1e2, 1e4):
        x = torch.randn(1, 1, 4, 8) * size
        assert attend(env, x, x, torch.randn(1, 1, 4, 2))[0].isfinite().all()


def check_attention_leaves_inputs_unchanged(env: Any) -> None:
    given = [torch.randn(2, 3, 4, 8) for _ in range(3)]
    copies = [x.clone() for x in given]
    attend(env, *given, torch.ones(4, 4).tril().bool())
    assert all(map(torch.equal, given, copies))


def check_attention_gradients(env: Any) -> None:
    for masked in (False, True):
        mask = torch.ones(3, 3).tril().bool() if masked else None
        given = [torch.randn(1, 1, 3, 4, requires_grad=True) for _ in range(3)]
        probe = torch.randn(1, 1, 3, 4)
        (attend(env, *given, mask)[0] * probe).sum().backward()
        expected = F.scaled_dot_product_attention(*given, attn_mask=mask)
        wanted = torch.autograd.grad((expected * probe).sum(), given)
        for x, gradient in zip(given, wanted, strict=True):
            torch.testing.assert_close(x.grad, gradient)


def check_layer_shapes(env: Any) -> None:
    for n_heads in (1, 2, 4, 8):
        for batch, length in ((1, 6), (3, 1), (2, 9)):
            x = torch.randn(batch, length, 32)
            output, weights = layer_of(env, n_heads)(x, x, x)
            assert output.shape == x.shape
            assert weights.shape == (batch, n_heads, length, length)


def check_layer_is_deterministic_in_eval(env: Any) -> None:
    layer, x = layer_of(env), torch.randn(2, 5, 32)
    first = layer(x, x, x)[0]
    for _ in range(3):
        assert torch.equal(layer(x, x, x)[0], first)


def check_gradients_reach_every_parameter(env: Any) -> None:
    for n_heads in (1, 4):
        layer, x = layer_of(env, n_heads), torch.randn(2, 5, 32)
        layer(x, x, x)[0].square().sum().backward()
        biases = [p for p in layer.parameters() if p.dim() == 1]
        for p in layer.parameters():
            assert p.grad is not None
            assert p in set(biases) or p.grad.abs().sum() > 0


def check_layer_weights(env: Any) -> None:
    for n_heads in (1, 2, 4):
        x = torch.randn(2, 5, 32)
        weights = layer_of(env, n_heads)(x, x, x)[1]
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, n_heads, 5))


def check_cross_attention(env: Any) -> None:
    for t_q, t_k in ((3, 7), (7, 3), (1, 4)):
        query, memory = torch.randn(2, t_q, 32), torch.randn(2, t_k, 32)
        output, weights = layer_of(env)(query, memory, memory)
        assert output.shape == query.shape
        assert weights.shape == (2, 4, t_q, t_k)


def check_layer_permutation(env: Any) -> None:
    layer, x = layer_of(env), torch.randn(2, 6, 32)
    for _ in range(3):
        order = torch.randperm(6)
        moved = x[:, order]
        torch.testing.assert_close(layer(moved, moved, moved)[0], layer(x, x, x)[0][:, order])


def check_layer_causal_mask(env: Any) -> None:
    layer, x = layer_of(env), torch.randn(2, 6, 32)
    mask = torch.ones(6, 6).tril().bool()
    whole = layer(x, x, x, mask)[0]
    for length in range(1, 6):
        start = x[:, :length]
        shorter = layer(start, start, start, mask[:length, :length])[0]
        torch.testing.assert_close(whole[:, :length], shorter)


def check_layer_padding_mask(env: Any) -> None:
    layer, x = layer_of(env), torch.randn(2, 6, 32)
    mask = (torch.arange(6) < 4).expand(2, 1, 1, 6)
    before = layer(x, x, x, mask)[0]
    other = x.clone()
    other[:, 4:] = 50.0
    torch.testing.assert_close(layer(other, other, other, mask)[0][:, :4], before[:, :4])


def check_number_of_heads_matters(env: Any) -> None:
    one, many, x = layer_of(env, 1), layer_of(env, 4), torch.randn(2, 5, 32)
    with torch.no_grad():
        for a, b in zip(one.parameters(), many.parameters(), strict=True):
            b.copy_(a.reshape(b.shape))
    assert not torch.allclose(one(x, x, x)[0], many(x, x, x)[0], atol=1e-6)


def check_samples_are_independent(env: Any) -> None:
    layer, x = layer_of(env), torch.randn(4, 5, 32)
    whole = layer(x, x, x)[0]
    for sample in range(4):
        one = x[sample : sample + 1]
        torch.testing.assert_close(layer(one, one, one)[0], whole[sample : sample + 1])


def check_layer_leaves_inputs_unchanged(env: Any) -> None:
    x = torch.randn(2, 5, 32)
    copy = x.clone()
    layer_of(env)(x, x, x)
    assert torch.equal(x, copy)
