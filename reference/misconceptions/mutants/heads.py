"""Wrong ways to make heads and to join them, and layers that lack a projection."""

from functools import partial

from reference.misconceptions.mutants.places import ALL, BLOCKS, MHA_REVIEW
from reference.misconceptions.mutants.source import Change, Mutant

at = partial(Change, "attention")

SPLIT = """\
    x = x.reshape(batch, length, n_heads, d_model // n_heads)  # (B, T, H, d_k)
    return x.transpose(1, 2)  # (B, H, T, d_k)
"""
SPLIT_VIEW = at(SPLIT, "    return x.reshape(batch, n_heads, length, d_model // n_heads)\n")
MERGE_VIEW = at("    x = x.transpose(1, 2)  # (B, T, H, d_k)\n", "")
DEAL = "    return x.reshape(batch, length, -1, n_heads).permute(0, 3, 1, 2)\n"
SIZES = "self.n_heads, query.shape[2] // self.n_heads"
W_Q, W_K, W_V, W_O = (
    f"        self.w_{role} = nn.Linear(d_model, d_model, bias=bias)\n" for role in "qkvo"
)
Q_USED = "split_heads(self.w_q(query), self.n_heads)"
K_USED = "split_heads(self.w_k(key), self.n_heads)"
V_USED = "split_heads(self.w_v(value), self.n_heads)"
OUT = "self.w_o(merge_heads(heads))"
NARROW = "d_model, d_model // n_heads, bias=bias"


def _narrow(role: str, features: str) -> Change:
    """A projection with d_k outputs, and as many inputs as are named."""
    line = f"self.w_{role} = nn.Linear("
    return at(f"{line}d_model, d_model", f"{line}{features}, d_model // n_heads")


def _by_head(used: str, role: str, given: str) -> Change:
    return at(used, f"self.w_{role}(split_heads({given}, self.n_heads))")


def _for_all(used: str, role: str, given: str) -> Change:
    return at(used, f"self.w_{role}({given})[:, None].expand(-1, self.n_heads, -1, -1)")


def _as_long_as(used: str, other: str) -> Change:
    """A split that takes the length from another input."""
    projected = used.partition("split_heads(")[2].partition(", ")[0]
    return at(used, f"{projected}.reshape(-1, {other}.shape[1], {SIZES}).transpose(1, 2)")


HEADS = (
    Mutant("heads-view-without-transpose", ALL, (SPLIT_VIEW,)),
    Mutant("heads-merge-without-transpose", ALL, (MERGE_VIEW,)),
    Mutant(
        "heads-view-and-merge-without-transpose",
        ALL,
        (SPLIT_VIEW, MERGE_VIEW),
        also=("heads-view-without-transpose", "heads-merge-without-transpose"),  # it is both
    ),
    Mutant("heads-interleaved", ("multi_head_attention",), (at(SPLIT, DEAL),)),
    Mutant(
        "heads-sliced-input",
        ALL,
        (
            *(_narrow(role, "d_model // n_heads") for role in "qkv"),
            _by_head(Q_USED, "q", "query"),
            _by_head(K_USED, "k", "key"),
            _by_head(V_USED, "v", "value"),
        ),
        also=("heads-shared-projection",),
    ),
    Mutant(
        "heads-shared-projection",
        ALL,
        (at(W_K, "        self.w_k = self.w_q\n"), at(W_V, "        self.w_v = self.w_q\n")),
    ),
    Mutant("heads-shared-projection/query-key", ALL, (at(W_K, "        self.w_k = self.w_q\n"),)),
    Mutant(
        "heads-shared-projection/unused",
        ALL,
        (at("self.w_k(key)", "self.w_q(key)"), at("self.w_v(value)", "self.w_q(value)")),
        also=("parameters-dead",),
    ),
    Mutant(
        "heads-shared-projection/heads",
        MHA_REVIEW,
        (
            *(_narrow(role, "d_model") for role in "qkv"),
            _for_all(Q_USED, "q", "query"),
            _for_all(K_USED, "k", "key"),
            _for_all(V_USED, "v", "value"),
        ),
    ),
    Mutant(
        "heads-single",
        ALL,
        (at("        self.n_heads = n_heads\n", "        self.n_heads = 1\n"),),
        also=("argument-ignored",),
    ),
    Mutant(
        "output-projection-missing",
        ALL,
        (at(OUT, "merge_heads(heads)"), at(W_O, "")),
    ),
    Mutant(
        "output-projection-missing/unused",
        ALL,
        (at(OUT, "merge_heads(heads)"),),
        also=("parameters-dead",),
    ),
    Mutant(
        "cross-length-of-query",
        MHA_REVIEW,
        (_as_long_as(K_USED, "query"), _as_long_as(V_USED, "query")),
    ),
    Mutant("query-length-of-memory", MHA_REVIEW, (_as_long_as(Q_USED, "key"),)),
    Mutant(
        "cross-ignores-memory",
        MHA_REVIEW,
        (at("self.w_k(key)", "self.w_k(query)"), at("self.w_v(value)", "self.w_v(query)")),
    ),
)

GUARD = """\
        if d_model % n_heads != 0:
            raise ValueError(f"n_heads={n_heads} does not divide d_model={d_model}")
"""

LAYERS = (
    Mutant(
        "layers-unregistered/layer",
        MHA_REVIEW,
        (
            *(at(line, line.replace("= ", "= [")[:-1] + "]\n") for line in (W_Q, W_K, W_V, W_O)),
            at("self.w_q(query)", "self.w_q[0](query)"),
            at("self.w_k(key)", "self.w_k[0](key)"),
            at("self.w_v(value)", "self.w_v[0](value)"),
            at("self.w_o(", "self.w_o[0]("),
        ),
    ),
    Mutant(
        "layers-created-in-forward/layer",
        MHA_REVIEW,
        (
            at(W_O, ""),
            at(OUT, "nn.Linear(*query.shape[-1:] * 2, bias=False)(merge_heads(heads))"),
        ),
    ),
    Mutant(
        "parameters-dead/layer", MHA_REVIEW, (at(OUT, "self.w_o(merge_heads(heads.detach()))"),)
    ),
    Mutant(
        "parameters-dead/queries",
        ("encoder_classifier",),
        (at("self.w_q(query)", "self.w_q(query).detach()"),),
    ),
    Mutant(
        "value-error-missing",
        MHA_REVIEW,
        (at(GUARD, ""),),
    ),
    Mutant(
        "argument-ignored/heads",
        BLOCKS,
        (
            Change(
                "encoder",
                "MultiHeadAttention(d_model, n_heads, bias=bias)",
                "MultiHeadAttention(d_model, 1, bias=bias)",
            ),
        ),
        also=("heads-single",),
    ),
)
