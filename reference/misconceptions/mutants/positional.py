"""Wrong sinusoidal positional encodings."""

from functools import partial

from reference.misconceptions.mutants.places import BLOCKS
from reference.misconceptions.mutants.source import Change, Mutant

at = partial(Change, "positional")

EVEN = "torch.arange(0, d_model, 2, dtype=torch.float64)"
POWER = "10_000**exponent"
PAIRS = "torch.stack([angle.sin(), angle.cos()], dim=-1)"
TABLE = "pairs.reshape(max_len, d_model).float()"
COSINE = "(position[:, None] / 10_000 ** (exponent + 1 / d_model)).cos()"

POSITIONS = (
    Mutant(
        "pe-sin-cos-swapped",
        BLOCKS,
        (at("[angle.sin(), angle.cos()]", "[angle.cos(), angle.sin()]"),),
    ),
    Mutant("pe-halves", BLOCKS, (at(PAIRS, PAIRS.replace("stack", "cat")),)),
    Mutant("pe-exponent-doubled", BLOCKS, (at(EVEN, f"2 * {EVEN}"),)),
    Mutant("pe-exponent-cos", BLOCKS, (at("angle.cos()", COSINE),)),
    Mutant("pe-exponent-index", BLOCKS, (at(EVEN, "torch.arange(d_model // 2)"),)),
    Mutant("pe-one-frequency", BLOCKS, (at(POWER, "10_000 ** (0 * exponent)"),)),
    Mutant("pe-one-frequency/last", BLOCKS, (at(POWER, "10_000 ** (0 * exponent + 1)"),)),
    Mutant("pe-base", BLOCKS, (at(POWER, "1_000**exponent"),)),
    Mutant(
        "pe-base/hundred",
        BLOCKS,
        (at(POWER, "100**exponent"),),
        also=("pe-exponent-index",),  # 100^(2i/d) is 10000^(i/d)
    ),
    Mutant(
        "pe-position-from-one",
        BLOCKS,
        (at("torch.arange(max_len, ", "1 + torch.arange(max_len, "),),
    ),
    Mutant("pe-is-trained", BLOCKS, (at(TABLE, f"torch.nn.Parameter({TABLE})"),)),
    Mutant(
        "pe-is-trained/random",
        BLOCKS,
        (at(TABLE, "torch.randn(max_len, d_model)"),),
    ),
    Mutant("pe-too-short", BLOCKS, (at(TABLE, f"{TABLE}[:512]"),)),
    Mutant(
        "hard-coded-figures/positions",
        BLOCKS,
        (at("2, dtype=torch.float64) / d_model", "2, dtype=torch.float64) / 8"),),
    ),
    Mutant("axis-squeezed/positions", BLOCKS, (at(TABLE, f"{TABLE}.squeeze()"),)),
)
