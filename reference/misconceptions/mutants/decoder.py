"""Wrong decoder blocks, and wrong causal masks."""

from functools import partial

from reference.misconceptions.mutants.places import ENCODER, REVIEW
from reference.misconceptions.mutants.source import Change, Mutant

at = partial(Change, "decoder")
mask_at = partial(Change, "masks")

CAUSAL = "causal = causal_mask(x.shape[1]).to(x.device)"
SELF = "attended, _ = self.self_attention(x, x, x, causal)"
FIRST = "x = self.norm1(x + attended)"
MASK = "mask = None if memory_key_padding_mask is None else attention_mask(memory_key_padding_mask)"
CROSS = "attended, _ = self.cross_attention(x, memory, memory, mask)"
SECOND = "x = self.norm2(x + attended)"
KEPT = "start, x = x, self.norm1(x + attended)"
HIDDEN = "torch.relu(self.linear1(x))"
THIRD = "self.norm3(x + self.linear2(hidden))"
CROSS_LAYER = "        self.cross_attention = MultiHeadAttention(d_model, n_heads, bias=bias)\n"
NORM2, NORM3 = (f"        self.norm{n} = nn.LayerNorm(d_model)\n" for n in (2, 3))
TURNED = "attention_mask(memory_key_padding_mask)"

CROSS_BLOCK = f"        {MASK}\n        {CROSS}  # (B, T, D)\n        {SECOND}\n"
PRE = (
    at(
        f"        {SELF}",
        "        h = self.norm1(x)\n        attended, _ = self.self_attention(h, h, h, causal)",
    ),
    at(FIRST, "x = x + attended"),
    at(CROSS, CROSS.replace("(x,", "(self.norm2(x),")),
    at(SECOND, "x = x + attended"),
    at(HIDDEN, "torch.relu(self.linear1(self.norm3(x)))"),
    at(THIRD, "x + self.linear2(hidden)"),
)
IMPORT = "from reference.attention import MultiHeadAttention"
PARTS = f"{IMPORT}, merge_heads, scaled_dot_product_attention, split_heads"
UNPROJECTED = """\
        q, kept = (split_heads(h, self.self_attention.n_heads) for h in (x, memory))
        attended = merge_heads(scaled_dot_product_attention(q, kept, kept, mask)[0])"""

CAUSALITY = (
    Mutant(
        "decoder-not-causal",
        REVIEW,
        (at("self.self_attention(x, x, x, causal)", "self.self_attention(x, x, x)"),),
    ),
    Mutant(
        "decoder-causal-shifted",
        REVIEW,
        (at(CAUSAL, "causal = torch.ones(2 * x.shape[1:2]).tril(1)"),),
    ),
    Mutant("decoder-causal-shifted/function", REVIEW, (mask_at(".tril()", ".tril(1)"),)),
    Mutant("decoder-causal-shifted/not-itself", REVIEW, (mask_at(".tril()", ".tril(-1)"),)),
    Mutant("mask-inverted/causal", REVIEW, (mask_at(".tril()", ".triu(1)"),)),
)

CROSSING = (
    Mutant(
        "decoder-cross-missing",
        REVIEW,
        (at(CROSS_BLOCK, ""), at(CROSS_LAYER, ""), at(NORM2, "")),
        also=("cross-ignores-memory",),
    ),
    Mutant(
        "decoder-cross-missing/unused",
        REVIEW,
        (at(CROSS_BLOCK, ""),),
        also=("cross-ignores-memory", "parameters-dead"),
    ),
    Mutant(
        "decoder-cross-causal",
        REVIEW,
        (at(CROSS, CROSS.replace(", mask)", ", causal)")),),
    ),
    Mutant(
        "decoder-cross-causal/both-masks",
        REVIEW,
        (
            at(
                CROSS,
                "seen = torch.ones(x.shape[1], memory.shape[1]).tril() == 1\n"
                f"        mask = seen if mask is None else seen & mask\n        {CROSS}",
            ),
        ),
    ),
    Mutant(
        "decoder-order",
        REVIEW,
        (
            at(SELF, f"{MASK}\n        {CROSS}"),
            at(f"        {MASK}\n        {CROSS}", f"        {SELF}"),
        ),
    ),
    Mutant(
        "cross-ignores-memory/block",
        REVIEW,
        (at("self.cross_attention(x, memory, memory, mask)", "self.cross_attention(x, x, x)"),),
        also=("decoder-cross-missing",),
    ),
    Mutant(
        "cross-stale-query",
        REVIEW,
        (
            at(FIRST, KEPT),
            at("self.cross_attention(x,", "self.cross_attention(start,"),
        ),
    ),
    Mutant(
        "cross-unprojected",
        REVIEW,
        (at(IMPORT, PARTS), at(CROSS_LAYER, ""), at(f"        {CROSS}", UNPROJECTED)),
    ),
    Mutant(
        "cross-unprojected/unused",
        REVIEW,
        (at(IMPORT, PARTS), at(f"        {CROSS}", UNPROJECTED)),
        also=("parameters-dead",),
    ),
    Mutant(
        "cross-unprojected/single-head",
        REVIEW,
        (
            at(IMPORT, PARTS),
            at(CROSS_LAYER, ""),
            at(
                CROSS,
                "mask = None if mask is None else mask[:, 0]\n"
                "        attended, _ = scaled_dot_product_attention(x, memory, memory, mask)",
            ),
        ),
    ),
    Mutant(
        "heads-shared-projection/both-attentions",
        REVIEW,
        (at(CROSS_LAYER, "        self.cross_attention = self.self_attention\n"),),
        also=("layers-shared",),
    ),
    Mutant(
        "parameters-dead/cross",
        REVIEW,
        (at(SECOND, "x = self.norm2(x + attended.detach())"),),
    ),
)

MASKS = (
    Mutant("padding-mask-not-passed/memory", REVIEW, (at(CROSS, CROSS.replace(", mask)", ")")),)),
    Mutant(
        "mask-one-dropped",
        REVIEW,
        (at(CAUSAL, f"{CAUSAL} if memory_key_padding_mask is None else None"),),
    ),
    Mutant(
        "mask-inverted/memory", REVIEW, (at(TURNED, "attention_mask(~memory_key_padding_mask)"),)
    ),
    Mutant("mask-required/memory", REVIEW, (at(MASK, f"mask = {TURNED}"),)),
    Mutant("mask-on-heads/memory", REVIEW, (at(TURNED, "~memory_key_padding_mask[:, None, :]"),)),
    Mutant("mask-shape/memory", REVIEW, (at(TURNED, "~memory_key_padding_mask"),)),
)

NORMS = (
    Mutant("norm-pre/decoder", REVIEW, PRE),
    Mutant("norm-missing/decoder", REVIEW, (at(NORM3, ""), at(THIRD, "x + self.linear2(hidden)"))),
    Mutant(
        "norm-shared/decoder",
        REVIEW,
        (
            at(NORM2, "        self.norm2 = self.norm1\n"),
            at(NORM3, "        self.norm3 = self.norm1\n"),
        ),
    ),
    Mutant(
        "norm-shared/cross",
        REVIEW,
        (at(SECOND, "x = self.norm1(x + attended)"),),
        also=("parameters-dead",),
    ),
    Mutant("norm-of-sublayer/decoder", REVIEW, (at(SECOND, "x = x + self.norm2(attended)"),)),
    Mutant("residual-missing/cross", REVIEW, (at(SECOND, "x = self.norm2(attended)"),)),
    Mutant(
        "residual-wrong-source/decoder",
        REVIEW,
        (
            at(FIRST, KEPT),
            at(SECOND, "x = self.norm2(start + attended)"),
        ),
    ),
    Mutant("ffn-no-activation/decoder", REVIEW, (at(HIDDEN, "self.linear1(x)"),)),
    Mutant(
        "ffn-missing/decoder",
        REVIEW,
        (at(f"output: Tensor = {THIRD}", "output = x"),),
        also=("parameters-dead",),
    ),
    Mutant(
        "input-modified/decoder", REVIEW, (at(FIRST, "x += attended\n        x = self.norm1(x)"),)
    ),
    Mutant(
        "argument-ignored/decoder",
        REVIEW,
        (at(CROSS_LAYER, CROSS_LAYER.replace("n_heads", "1")),),
        also=("heads-single",),
    ),
)

PADDING = "input_ids == pad_id"
PADDING_MASKS = (
    Mutant("mask-inverted/padding", ENCODER, (mask_at(PADDING, "input_ids != pad_id"),)),
    Mutant(
        "mask-inverted/padding-key",
        ("encoder_classifier", "transformer_review"),
        (mask_at("~key_padding_mask", "key_padding_mask"),),
    ),
    Mutant("argument-ignored/pad-id", ENCODER, (mask_at(PADDING, "input_ids == 0"),)),
    Mutant(
        "mask-by-position/padding",
        ENCODER,
        (
            mask_at(
                PADDING, "torch.arange(input_ids.shape[1]) >= (input_ids != pad_id).sum(1, True)"
            ),
        ),
    ),
)

DECODERS = (*CAUSALITY, *CROSSING, *MASKS, *NORMS, *PADDING_MASKS)
