"""Wrong attention functions, and wrong ways in which a layer uses one."""

from functools import partial

from reference.misconceptions.mutants.places import ALL, MHA, MHA_REVIEW, REVIEW
from reference.misconceptions.mutants.source import Change, Mutant

at = partial(Change, "attention")

SCALE = "scores / math.sqrt(query.shape[-1])"
SCALED = "    scores = scores / math.sqrt(query.shape[-1])\n"
HIDE = "scores.masked_fill(mask == 0, -math.inf)"
MASKED = "    if mask is not None:\n        scores = scores.masked_fill(mask == 0, -math.inf)\n"
SOFTMAX = "torch.softmax(scores, dim=-1)"
PRODUCT = "    scores = query @ key.transpose(-2, -1)"
CALL = "heads, weights = scaled_dot_product_attention(q, k, v, mask)"

SCALES = (
    Mutant("scale-missing", ALL, (at(SCALED, ""),)),
    Mutant("scale-d_k", ALL, (at(SCALE, "scores / query.shape[-1]"),)),
    Mutant("scale-d_k-squared", ALL, (at(SCALE, "scores / query.shape[-1] ** 2"),)),
    Mutant("scale-multiplied", ALL, (at(SCALE, "scores * math.sqrt(query.shape[-1])"),)),
    Mutant("scale-length", ALL, (at(SCALE, "scores / math.sqrt(key.shape[-2])"),)),
    Mutant(
        "scale-d_model",
        ALL,
        (at("self.w_q(query), self.n_heads", "self.w_q(query) / self.n_heads**0.5, self.n_heads"),),
    ),
    Mutant("scale-constant", ALL, (at(SCALE, "scores / math.sqrt(8)"),)),
    Mutant("scale-constant/d_k-64", MHA_REVIEW, (at(SCALE, "scores / 8"),)),
)

SOFTMAXES = (
    Mutant("softmax-over-queries", ALL, (at(SOFTMAX, "torch.softmax(scores, dim=-2)"),)),
    Mutant(
        "softmax-over-heads",
        ALL,
        (at(SOFTMAX, "torch.softmax(scores, dim=-3 if scores.dim() > 2 else -1)"),),
    ),
    Mutant(
        "softmax-over-heads/dim-1",
        MHA_REVIEW,
        (at(SOFTMAX, "torch.softmax(scores, dim=1)"),),
        also=("softmax-over-queries",),  # in three dimensions it is the axis of the queries
    ),
    Mutant(
        "softmax-over-heads/dim-0",
        MHA_REVIEW,
        (at(SOFTMAX, "torch.softmax(scores, dim=0)"),),
        also=("softmax-over-queries", "batch-mixed"),
    ),
    Mutant("softmax-missing", ALL, (at(SOFTMAX, "scores"),)),
)

LARGE = "scores.masked_fill(mask != 0, torch.finfo(scores.dtype).min)"
LATE = """\
    weights = torch.softmax(scores, dim=-1)  # over the keys
    if mask is not None:
        weights = weights * (mask != 0)
"""
ZEROS_HIDDEN = "scores.masked_fill(scores * (mask != 0) == 0, -math.inf)"

MASKS = (
    Mutant("mask-inverted", ALL, (at("mask == 0", "mask != 0"),)),
    Mutant("mask-inverted/finite", MHA_REVIEW, (at(HIDE, LARGE),)),
    Mutant(
        "mask-after-softmax",
        ALL,
        (at(f"{MASKED}    weights = {SOFTMAX}  # over the keys\n", LATE),),
    ),
    Mutant("mask-fill-zero", ALL, (at("-math.inf", "0.0"),)),
    Mutant("mask-fill-zero/small", MHA_REVIEW, (at("-math.inf", "-1e-9"),)),
    Mutant("mask-fill-zero/product", MHA_REVIEW, (at(HIDE, "scores * (mask != 0)"),)),
    Mutant(
        "mask-result-dropped",
        ALL,
        (at(f"scores = {HIDE}", HIDE),),
        also=("mask-ignored", "padding-mask-not-passed"),
    ),
    Mutant(
        "mask-ignored",
        ALL,
        (at(MASKED, ""),),
        also=("mask-result-dropped", "padding-mask-not-passed"),
    ),
    Mutant(
        "mask-ignored/layer",
        MHA_REVIEW,
        (at(CALL, CALL.replace(", mask", "")),),
        also=("padding-mask-not-passed",),
    ),
    Mutant("mask-on-query-axis", ALL, (at("mask == 0", "mask.transpose(-2, -1) == 0"),)),
    Mutant("mask-required", ALL, (at(MASKED, f"    scores = {HIDE}\n"),)),
    Mutant("mask-dtype", MHA_REVIEW, (at("mask == 0", "~mask"),)),
    Mutant("mask-dtype/floats", MHA_REVIEW, (at(HIDE, "scores + (1 - mask) * -1e9"),)),
    Mutant("mask-shape", ALL, (at("mask == 0", "mask.view(scores.shape[-2:]) == 0"),)),
    Mutant("mask-shape/batches", MHA_REVIEW, (at("mask == 0", "mask.unsqueeze(1) == 0"),)),
    Mutant("mask-shape/four", MHA_REVIEW, (at("mask == 0", "mask.expand(-1, 1, -1, -1) == 0"),)),
    Mutant("mask-zero-scores", ALL, (at(HIDE, ZEROS_HIDDEN),)),
    Mutant("mask-nan", ALL, (at(HIDE, "scores + (mask == 0) * -math.inf"),)),
    Mutant(
        "causal-built-in",
        MHA_REVIEW,
        (
            at(
                SOFTMAX,
                "torch.softmax(scores + torch.full_like(scores, -math.inf).triu(1), dim=-1)",
            ),
        ),
    ),
)

DROPPED = "torch.dropout(self.w_o(merge_heads(heads)), 0.1, True)"

RESULTS = (
    Mutant(
        "weights-returned-wrong",
        MHA_REVIEW,
        (at("return weights @ value, weights", "return weights @ value, scores"),),
    ),
    Mutant(
        "weights-returned-wrong/before-mask",
        MHA_REVIEW,
        (
            at(MASKED, f"    plain = {SOFTMAX}\n{MASKED}"),
            at("return weights @ value, weights", "return weights @ value, plain"),
        ),
    ),
    Mutant(
        "weights-returned-wrong/averaged",
        MHA_REVIEW,
        (at("merge_heads(heads)), weights", "merge_heads(heads)), weights.mean(dim=1)"),),
    ),
    Mutant("values-are-keys", MHA_REVIEW, (at("weights @ value, w", "weights @ key, w"),)),
    Mutant("values-are-keys/layer", MHA_REVIEW, (at("self.w_v(value)", "self.w_v(key)"),)),
    Mutant(
        "query-key-swapped",
        MHA_REVIEW,
        (at("query @ key.transpose(-2, -1)", "key @ query.transpose(-2, -1)"),),
    ),
    Mutant(
        "dropout-in-eval",
        MHA_REVIEW,
        (at("self.w_o(merge_heads(heads))", DROPPED),),
    ),
    Mutant(
        "dropout-in-eval/weights",
        MHA_REVIEW,
        (at(SOFTMAX, f"torch.dropout({SOFTMAX}, 0.1, True)"),),
    ),
    Mutant(
        "input-modified/query",
        MHA_REVIEW,
        (
            at(SCALED, ""),
            at(PRODUCT, f"    query /= math.sqrt(query.shape[-1])\n{PRODUCT}"),
        ),
    ),
    Mutant(
        "axis-squeezed/layer",
        MHA_REVIEW,
        (at("self.w_o(merge_heads(heads))", "self.w_o(merge_heads(heads)).squeeze()"),),
    ),
)

PIECEWISE = """\
    rows = [query @ key.transpose(-2, -1) for _ in range(query.shape[-2])]
    scores = torch.stack([row[..., t, :] for t, row in enumerate(rows)], dim=-2)"""
WINDOW = f"""\
    key, value = key[..., :16, :], value[..., :16, :]
    mask = None if mask is None else mask[..., :16]
{PRODUCT}"""

COSTS = (
    Mutant("cost-cubic", MHA_REVIEW, (at(PRODUCT, PIECEWISE),)),
    Mutant("cost-linear", MHA_REVIEW, (at(PRODUCT, WINDOW),)),
)

HARD_CODED = (
    Mutant(
        "hard-coded-figures",
        MHA,
        (at("n_heads, d_model // n_heads)  # (B, T, H, d_k)", "4, 8)"),),
    ),
    Mutant(
        "hard-coded-figures/attention",
        REVIEW,
        (at(SCALE, "scores / 2.8284"),),
        also=("scale-constant",),
    ),
)

ATTENTION = (*SCALES, *SOFTMAXES, *MASKS, *RESULTS, *COSTS, *HARD_CODED)
