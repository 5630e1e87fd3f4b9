"""What can go wrong in any definition."""

from functools import partial

from reference.misconceptions.mutants.places import ALL, BLOCKS, ENCODER, MHA, MHA_REVIEW, REVIEW
from reference.misconceptions.mutants.source import MODULE, Change, Mutant

attention_at = partial(Change, "attention")
encoder_at = partial(Change, "encoder")
module_at = partial(Change, MODULE)

SCORES = "    scores = query @ key.transpose(-2, -1)"
TODO = '"written later"'
FUSED = """\
    output = torch.nn.functional.scaled_dot_product_attention(query, key, value)
    return output, query"""
FORWARD = "self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None"
SIZES = "d_model: int, n_heads: int, d_ff: int"
BEGIN = ") -> None:\n"
UNPACKED = "        (d_model, n_heads, d_ff), dropout, bias = config, 0.0, False\n"

GENERAL = (
    Mutant(
        "not-implemented",
        MHA_REVIEW,
        (attention_at(SCORES, f"    raise NotImplementedError({TODO})\n{SCORES}"),),
    ),
    Mutant(
        "not-implemented/none",
        MHA_REVIEW,
        (attention_at("    return weights @ value, weights\n", ""),),
    ),
    Mutant(
        "not-implemented/block",
        BLOCKS,
        (
            encoder_at(
                "        return output  # (B, T, D)\n", "        raise NotImplementedError\n"
            ),
        ),
    ),
    Mutant(
        "wrong-signature",
        MHA_REVIEW,
        (
            attention_at(FORWARD, "self, query: Tensor, mask: Tensor | None = None"),
            attention_at("self.w_k(key)", "self.w_k(query)"),
            attention_at("self.w_v(value)", "self.w_v(query)"),
        ),
    ),
    Mutant(
        "wrong-signature/no-mask",
        MHA_REVIEW,
        (
            attention_at(FORWARD, "self, query: Tensor, key: Tensor, value: Tensor"),
            attention_at("(q, k, v, mask)", "(q, k, v)"),
        ),
    ),
    Mutant(
        "wrong-signature/block",
        BLOCKS,
        (
            encoder_at(
                f"        self, {SIZES}, dropout: float = 0.0, bias: bool = False\n    {BEGIN}",
                f"        self, config: tuple[int, int, int]\n    {BEGIN}{UNPACKED}",
            ),
        ),
    ),
    Mutant(
        "name-misspelt",
        MHA,
        (
            attention_at("def merge_heads(", "def merge_head("),
            attention_at("self.w_o(merge_heads(", "self.w_o(merge_head("),
            module_at("import merge_heads\n", "import merge_head\n"),
        ),
    ),
    Mutant(
        "name-misspelt/layer",
        MHA,
        (
            attention_at("class MultiHeadAttention(", "class MultiheadAttention("),
            module_at("import MultiHeadAttention\n", "import MultiheadAttention\n"),
        ),
    ),
    Mutant(
        "name-misspelt/block",
        ENCODER,
        (
            encoder_at("class EncoderBlock(", "class Encoder_block("),
            encoder_at(
                "EncoderBlock(d_model, n_heads, d_ff, dropout, bias)",
                "Encoder_block(d_model, n_heads, d_ff, dropout, bias)",
            ),
            module_at("import EncoderBlock\n", "import Encoder_block\n"),
        ),
    ),
    Mutant(
        "name-misspelt/decoder",
        REVIEW,
        (
            Change("decoder", "class DecoderBlock(", "class Decoder_block("),
            module_at("import DecoderBlock\n", "import Decoder_block\n"),
        ),
    ),
    Mutant(
        "disallowed-module",
        MHA_REVIEW,
        (attention_at(f"{SCORES}  # (..., T_q, T_k)", f"{FUSED}\n{SCORES}"),),
    ),
    Mutant(
        "cuda-only",
        ALL,
        (attention_at("    return x.transpose(1, 2)", "    return x.cuda().transpose(1, 2)"),),
    ),
    Mutant(
        "cuda-only/mask",
        REVIEW,
        (Change("masks", "dtype=torch.bool).tril()", 'dtype=torch.bool, device="cuda").tril()'),),
    ),
)
