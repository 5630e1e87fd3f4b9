"""Two mistakes at once, as they come in real homework."""

from collections.abc import Iterable

from reference.misconceptions.mutants.source import Mutant, both

PAIRS = (
    ("scale-missing", "softmax-over-queries"),
    ("scale-d_k", "heads-merge-without-transpose"),
    ("mask-inverted", "heads-view-without-transpose"),
    ("mask-fill-zero", "heads-single"),
    ("scale-missing", "output-projection-missing"),
    ("scale-multiplied", "mask-after-softmax"),
    ("norm-pre/attention", "ffn-other-activation"),
    ("norm-missing", "ffn-no-activation"),
    ("encoder-causal", "residual-missing/feed-forward"),
    ("padding-mask-not-passed", "norm-of-sublayer"),
    ("decoder-not-causal", "cross-stale-query"),
    ("pe-base", "pe-halves"),
    ("pool-mean", "padding-mask-missing"),
    ("decay-on-all", "schedule-off-by-one"),
    ("graph-no-self-loop", "patches-by-reshape"),
)


def pairs(mutants: Iterable[Mutant]) -> list[Mutant]:
    """The pairs, made of mutants that are known by name."""
    known = {mutant.name: mutant for mutant in mutants}
    return [both(known[first], known[second]) for first, second in PAIRS]
