"""Wrong encoder blocks, and stacks of them."""

from functools import partial

from reference.misconceptions.mutants.places import BLOCKS, ENCODER
from reference.misconceptions.mutants.source import Change, Mutant

at = partial(Change, "encoder")

ATTEND = "        attended, _ = self.attention(x, x, x, mask)  # (B, T, D)\n"
FIRST = "self.norm1(x + self.dropout(attended))"
HIDDEN = "torch.relu(self.linear1(x))"
SECOND = "self.norm2(x + self.dropout(self.linear2(hidden)))"
NORM1, NORM2 = (f"        self.norm{n} = nn.LayerNorm(d_model)\n" for n in (1, 2))
LINEAR1 = "        self.linear1 = nn.Linear(d_model, d_ff)\n"
LINEAR2 = "        self.linear2 = nn.Linear(d_ff, d_model)\n"
MASK = "None if key_padding_mask is None else attention_mask(key_padding_mask)"
BLOCK = "EncoderBlock(d_model, n_heads, d_ff, dropout, bias) for _ in range(n_layers)"
ONE_BLOCK = "EncoderBlock(d_model, n_heads, d_ff, dropout, bias)"

ATTEND_NORMED = """\
        normed = self.norm1(x)
        attended, _ = self.attention(normed, normed, normed, mask)
"""
PRE_FIRST = (at(ATTEND, ATTEND_NORMED), at(FIRST, "x + self.dropout(attended)"))
PRE_SECOND = (
    at(HIDDEN, "torch.relu(self.linear1(self.norm2(x)))"),
    at(SECOND, "x + self.dropout(self.linear2(hidden))"),
)
CARRY_FIRST = (
    at(ATTEND, f"        x = self.norm1(x)\n{ATTEND}"),
    at(FIRST, "x + self.dropout(attended)"),
)
CARRY_SECOND = (
    at("        hidden = ", "        x = self.norm2(x)\n        hidden = "),
    at(SECOND, "x + self.dropout(self.linear2(hidden))"),
)


def _by_hand(which: int, over: str, deviation: str) -> str:
    """A layer norm that is written out: over some axes, divided by something."""
    centred = f"(x - x.mean({over}, keepdim=True))"
    return f"{centred} / {deviation} * self.norm{which}.weight + self.norm{which}.bias"


def _norms(over: str, deviation: str) -> tuple[Change, ...]:
    """Both norms of the block written out."""
    first, second = (_by_hand(which, over, deviation) for which in (1, 2))
    added = "x = x + self.dropout"
    return (
        at(f"x = {FIRST}", f"{added}(attended)\n        x = {first}"),
        at(
            f"output: Tensor = {SECOND}",
            f"{added}(self.linear2(hidden))\n        output = {second}",
        ),
    )


def _over(axis: str) -> tuple[Change, ...]:
    return _norms(axis, f"(x.var({axis}, correction=0, keepdim=True) + 1e-5).sqrt()")


NORMS = (
    Mutant("norm-pre", BLOCKS, (*PRE_FIRST, *PRE_SECOND)),
    Mutant("norm-pre/attention", BLOCKS, PRE_FIRST),
    Mutant("norm-pre/feed-forward", BLOCKS, PRE_SECOND),
    Mutant("norm-missing", BLOCKS, (at(NORM1, ""), at(FIRST, "x + self.dropout(attended)"))),
    Mutant(
        "norm-missing/last",
        BLOCKS,
        (at(NORM2, ""), at(SECOND, "x + self.dropout(self.linear2(hidden))")),
    ),
    Mutant(
        "norm-result-dropped",
        BLOCKS,
        (at(f"x = {FIRST}", "x = x + self.dropout(attended)\n        self.norm1(x)"),),
        also=("norm-missing", "parameters-dead"),
    ),
    Mutant(
        "norm-result-dropped/last",
        BLOCKS,
        (
            at(
                f"output: Tensor = {SECOND}",
                "output = x + self.dropout(self.linear2(hidden))\n        self.norm2(output)",
            ),
        ),
        also=("norm-missing", "parameters-dead"),
    ),
    Mutant(
        "norm-shared",
        BLOCKS,
        (at(NORM2, "        self.norm2 = self.norm1\n"),),
    ),
    Mutant(
        "norm-shared/unused",
        BLOCKS,
        (at("self.norm2(x + ", "self.norm1(x + "),),
        also=("parameters-dead",),
    ),
    Mutant(
        "norm-scalar-gain",
        BLOCKS,
        (
            at(NORM1, NORM1.replace("d_model)", "d_model, elementwise_affine=False)")),
            at(
                NORM2,
                NORM2.replace("d_model)", "d_model, elementwise_affine=False)")
                + "        self.gains = nn.ParameterList([torch.ones(1), torch.ones(1)])\n"
                "        self.shifts = nn.ParameterList([torch.zeros(1), torch.zeros(1)])\n",
            ),
            at(FIRST, f"{FIRST} * self.gains[0] + self.shifts[0]"),
            at(SECOND, f"{SECOND} * self.gains[1] + self.shifts[1]"),
        ),
    ),
    Mutant(
        "norm-without-eps",
        BLOCKS,
        (
            at(NORM1, NORM1.replace("d_model)", "d_model, eps=0.0)")),
            at(NORM2, NORM2.replace("d_model)", "d_model, eps=0.0)")),
        ),
    ),
    Mutant(
        "norm-of-sublayer",
        BLOCKS,
        (
            at(FIRST, "x + self.norm1(self.dropout(attended))"),
            at(SECOND, "x + self.norm2(self.dropout(self.linear2(hidden)))"),
        ),
    ),
    Mutant("norm-wrong-axis", BLOCKS, _over("1")),
    Mutant("norm-wrong-axis/batch", BLOCKS, _over("0"), also=("batch-mixed",)),
    Mutant("norm-wrong-axis/both", BLOCKS, _over("(1, 2)")),
    Mutant("norm-unbiased-std", BLOCKS, _norms("-1", "(x.std(-1, keepdim=True) + 1e-5)")),
)

START = "start, x = x, "
RESIDUALS = (
    Mutant("residual-missing", BLOCKS, (at(FIRST, "self.norm1(self.dropout(attended))"),)),
    Mutant(
        "residual-missing/feed-forward",
        BLOCKS,
        (at(SECOND, "self.norm2(self.dropout(self.linear2(hidden)))"),),
    ),
    Mutant("residual-of-normalised", BLOCKS, (*CARRY_FIRST, *CARRY_SECOND)),
    Mutant(
        "residual-wrong-source",
        BLOCKS,
        (
            at(f"x = {FIRST}", f"{START}{FIRST}"),
            at(SECOND, "self.norm2(start + self.dropout(self.linear2(hidden)))"),
        ),
    ),
)

FEED_FORWARD = (
    Mutant(
        "ffn-missing",
        BLOCKS,
        (
            at(LINEAR1, ""),
            at(LINEAR2, ""),
            at(f"        hidden = {HIDDEN}  # (B, T, d_ff)\n", ""),
            at(SECOND, "self.norm2(x)"),
        ),
    ),
    Mutant(
        "ffn-missing/unused",
        BLOCKS,
        (at(f"output: Tensor = {SECOND}", "output = x"),),
        also=("parameters-dead",),
    ),
    Mutant("ffn-no-activation", BLOCKS, (at(HIDDEN, "self.linear1(x)"),)),
    Mutant(
        "ffn-other-activation",
        BLOCKS,
        (at(HIDDEN, "nn.functional.gelu(self.linear1(x))"),),
    ),
    Mutant(
        "ffn-other-activation/silu",
        BLOCKS,
        (at(HIDDEN, "nn.functional.silu(self.linear1(x))"),),
    ),
    Mutant(
        "ffn-wrong-width",
        BLOCKS,
        (
            at(LINEAR1, LINEAR1.replace("d_ff", "4 * d_model")),
            at(LINEAR2, LINEAR2.replace("d_ff", "4 * d_model")),
        ),
        also=("argument-ignored",),
    ),
)

CAUSAL = f"""\
        causal = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        mask = causal if mask is None else causal & mask
{ATTEND}"""
BATCH_SECOND = """\
        turned = x.transpose(0, 1)
        attended = self.attention(turned, turned, turned)[0].transpose(0, 1)
"""
LENGTHS = "torch.arange(x.shape[1]) >= (~key_padding_mask).sum(1, keepdim=True)"

MASKS = (
    Mutant("encoder-causal", BLOCKS, (at(ATTEND, CAUSAL),)),
    Mutant(
        "padding-mask-not-passed",
        BLOCKS,
        (at("self.attention(x, x, x, mask)", "self.attention(x, x, x)"),),
    ),
    Mutant(
        "padding-mask-not-passed/stack",
        ENCODER,
        (at("layer(x, key_padding_mask)", "layer(x)"),),
    ),
    Mutant(
        "padding-mask-not-passed/first-layer-only",
        ENCODER,
        (
            at(
                "            x = layer(x, key_padding_mask)  # (B, T, D)\n",
                "            x, key_padding_mask = layer(x, key_padding_mask), None\n",
            ),
        ),
    ),
    Mutant("mask-required/block", BLOCKS, (at(MASK, "attention_mask(key_padding_mask)"),)),
    Mutant(
        "mask-inverted/block",
        BLOCKS,
        (at("attention_mask(key_padding_mask)", "attention_mask(~key_padding_mask)"),),
    ),
    Mutant(
        "mask-shape/block",
        BLOCKS,
        (at("attention_mask(key_padding_mask)", "~key_padding_mask"),),
    ),
    Mutant(
        "mask-on-heads",
        BLOCKS,
        (at("attention_mask(key_padding_mask)", "~key_padding_mask[:, None, :]"),),
    ),
    Mutant(
        "mask-on-query-axis/block",
        BLOCKS,
        (at("attention_mask(key_padding_mask)", "~key_padding_mask[:, None, :, None]"),),
    ),
    Mutant(
        "mask-by-position",
        BLOCKS,
        (at("attention_mask(key_padding_mask)", f"attention_mask({LENGTHS})"),),
    ),
)

OTHERS = (
    Mutant(
        "layers-unregistered",
        ENCODER,
        (at("nn.ModuleList(\n", "list(\n"),),
    ),
    Mutant(
        "layers-unregistered/feed-forward",
        BLOCKS,
        (
            at(LINEAR1, "        self.linear1 = [nn.Linear(d_model, d_ff)]\n"),
            at(LINEAR2, "        self.linear2 = [nn.Linear(d_ff, d_model)]\n"),
            at("self.linear1(x)", "self.linear1[0](x)"),
            at("self.linear2(hidden)", "self.linear2[0](hidden)"),
        ),
        also=("ffn-missing",),
    ),
    Mutant(
        "layers-shared",
        ENCODER,
        (at(f"            {BLOCK}\n", f"            [{ONE_BLOCK}] * n_layers\n"),),
    ),
    Mutant(
        "layers-created-in-forward",
        BLOCKS,
        (
            at(LINEAR1, "        self.d_ff = d_ff\n"),
            at("self.linear1(x)", "nn.Linear(x.shape[-1], self.d_ff)(x)"),
        ),
    ),
    Mutant(
        "parameters-dead",
        BLOCKS,
        (at("self.dropout(attended)", "self.dropout(attended.detach())"),),
    ),
    Mutant(
        "input-modified",
        BLOCKS,
        (at(f"x = {FIRST}", "x += self.dropout(attended)\n        x = self.norm1(x)"),),
    ),
    Mutant(
        "input-modified/mask",
        BLOCKS,
        (
            at(
                "attention_mask(key_padding_mask)",
                "key_padding_mask.logical_not_()[:, None, None, :]",
            ),
        ),
    ),
    Mutant("batch-mixed", BLOCKS, (at(ATTEND, BATCH_SECOND),), also=("padding-mask-not-passed",)),
    Mutant(
        "dropout-in-eval/block",
        ENCODER,
        (at("self.dropout(attended)", "nn.functional.dropout(attended, self.dropout.p)"),),
    ),
    Mutant(
        "argument-ignored/dropout",
        ENCODER,
        (at("nn.Dropout(dropout)", "nn.Dropout(0.0)"),),
    ),
    Mutant("axis-squeezed/block", BLOCKS, (at("return output  #", "return output.squeeze()  #"),)),
)

ENCODERS = (*NORMS, *RESIDUALS, *FEED_FORWARD, *MASKS, *OTHERS)
