"""Milestone 5: what attention costs when the sequence grows."""

from grader.checks.cost import assert_quadratic, attention_costs, quadratic_table


def test_cost_is_fourfold_when_n_doubles(student, draw, note):
    """QKᵀ and ·V cost 4× for each doubling of n from 64 to 512, counted in operations."""
    counts = attention_costs(student.scaled_dot_product_attention, draw)
    note(f"Cost of attention, counted in operations:\n{quadratic_table(counts)}")
    assert_quadratic(counts, "the attention function")
