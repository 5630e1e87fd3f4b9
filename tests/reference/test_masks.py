"""The two masks against loops, and their opposite conventions."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import causal_mask, padding_mask, scaled_dot_product_attention
from reference.masks import attention_mask

sentences = st.integers(1, 6).flatmap(
    lambda length: st.lists(
        st.lists(st.integers(0, 3), min_size=length, max_size=length), min_size=1, max_size=4
    )
)


@settings(deadline=None, derandomize=True, max_examples=50)
@given(ids=sentences, pad_id=st.integers(0, 3))
def test_padding_is_marked_by_content_wherever_it_stands(ids, pad_id):
    mask = padding_mask(torch.tensor(ids), pad_id)
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[token == pad_id for token in sentence] for sentence in ids]


@settings(deadline=None, derandomize=True, max_examples=20)
@given(size=st.integers(1, 12))
def test_a_token_may_attend_to_itself_and_to_the_past(size):
    mask = causal_mask(size)
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[key <= query for key in range(size)] for query in range(size)]


def test_true_means_ignore_in_a_padding_mask_and_may_attend_in_an_attention_mask():
    ignore = padding_mask(torch.tensor([[5, 0, 7], [0, 4, 4]]), pad_id=0)
    mask = attention_mask(ignore)
    assert mask.shape == (2, 1, 1, 3)
    x = torch.randn(2, 4, 3, 5)
    _, weights = scaled_dot_product_attention(x, x, x, mask)
    hidden = ignore[:, None, None, :].expand_as(weights)
    assert (weights[hidden] == 0).all()
    assert (weights[~hidden] > 0).all()
