"""Too few parameters: the answers show which of them are missing."""

import torch

from grader.diagnosis.fewer import fewer_projections, norms_are_shared
from reference.misconceptions.blocks import layer_norm

D = 6


def matrices(count, *shape):
    torch.manual_seed(count)
    return [torch.randn(*(shape or (D, D))) / D**0.5 for _ in range(count)]


def told(given_matrices, applied, expected=4):
    token = torch.randn(D)
    right = applied(token)

    def got(gives):
        return torch.allclose(gives, right, atol=1e-5)

    return fewer_projections(given_matrices, expected, D, token, got)


def test_no_output_projection():
    q, k, v = matrices(3)
    assert told([q, k, v], lambda x: v @ x) == "output-projection-missing"
    assert told([torch.cat([q, k, v])], lambda x: v @ x) == "output-projection-missing"
    assert told([q, k, v.T], lambda x: v @ x) == "output-projection-missing"


def test_a_matrix_in_several_roles():
    q, v, o = matrices(3)
    assert told([q, v, o], lambda x: o @ v @ x) == "heads-shared-projection"
    assert told([v, o], lambda x: o @ v @ x) == "heads-shared-projection"
    assert told([v], lambda x: v @ v @ x) == "heads-shared-projection"


def test_nothing_is_said_of_as_many_as_there_should_be():
    q, k, v, o = matrices(4)
    assert told([q, k, v, o], lambda x: o @ v @ x) is None
    assert told([q, k, v, o], lambda x: o @ v @ x, expected=8) == "heads-shared-projection"


def test_heads_that_share_or_read_a_slice():
    (o,) = matrices(1)
    narrow = matrices(3, 2, D)
    one = torch.cat([narrow[2]] * 3)
    assert told([*narrow, o], lambda x: o @ one @ x) == "heads-shared-projection"
    slices = matrices(3, 2, 2)
    by_slice = torch.block_diag(*[slices[2]] * 3)
    assert told([*slices, o], lambda x: o @ by_slice @ x) == "heads-sliced-input"


def test_values_that_fit_nothing():
    q, k, v = matrices(3)
    assert told([q, k, v], lambda x: 2 * (v @ x)) is None
    assert told([], lambda x: x) is None


def test_a_norm_that_is_used_twice():
    torch.manual_seed(0)
    x, gain, shift = torch.randn(2, 3, D), torch.randn(D), torch.randn(D)
    once = layer_norm(x, gain, shift)
    twice = layer_norm(once, gain, shift)
    assert norms_are_shared([(gain, shift)], 2, x, twice)
    assert not norms_are_shared([(gain, shift)], 2, x, once)
