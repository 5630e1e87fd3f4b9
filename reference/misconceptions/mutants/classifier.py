"""Wrong classifiers: [CLS], pooling, positions and masks of the whole model."""

from functools import partial

from reference.misconceptions.mutants.places import ENCODER
from reference.misconceptions.mutants.source import Change, Mutant

at = partial(Change, "classifier")

CLS = "        self.cls = nn.Parameter(torch.randn(d_model))\n"
EXPANDED = "        cls = self.cls.expand(batch, 1, -1)  # (B, 1, D)\n"
JOINED = "torch.cat([cls, tokens], dim=1)"
POSITIONS = "x + self.positions[: 1 + length]"
TABLE = "sinusoidal_positional_encoding(max_len + 1, d_model)"
IGNORE = "torch.cat([seen, padding_mask(input_ids, self.pad_id)], dim=1)"
POOLED = "x[:, 0, :]"
LOGITS = "self.head(x[:, 0, :])"
ENCODED = "self.encoder(x, ignore)"
HEAD = "        self.head = nn.Linear(d_model, n_classes)\n"
PADDED = "nn.functional.pad(x, (0, 0, 0, self.max_len + 1 - x.shape[1])).flatten(1)"
APPENDED = (
    at(JOINED, "torch.cat([tokens, cls], dim=1)"),
    at(IGNORE, "torch.cat([padding_mask(input_ids, self.pad_id), seen], dim=1)"),
)
WITHOUT_CLS = (
    at(EXPANDED, ""),
    at(JOINED, "tokens"),
    at(POSITIONS, "x + self.positions[:length]"),
    at(IGNORE, "padding_mask(input_ids, self.pad_id)"),
)
SEEN_MEAN = "(x * ~ignore[:, :, None]).sum(1) / (~ignore).sum(1, keepdim=True)"

POOLING = (
    Mutant("cls-missing", ENCODER, (at(CLS, ""), *WITHOUT_CLS)),
    Mutant("cls-missing/unused", ENCODER, WITHOUT_CLS, also=("parameters-dead",)),
    Mutant("cls-appended", ENCODER, (*APPENDED, at(POOLED, "x[:, -1, :]"))),
    Mutant("cls-appended/first-read", ENCODER, APPENDED, also=("cls-missing",)),
    Mutant(
        "cls-not-learned",
        ENCODER,
        (at(CLS, CLS.replace("nn.Parameter(torch.randn(d_model))", "torch.zeros(d_model)")),),
    ),
    Mutant(
        "cls-not-learned/buffer",
        ENCODER,
        (at(CLS, '        self.register_buffer("cls", torch.randn(d_model))\n'),),
    ),
    Mutant("pool-mean", ENCODER, (at(POOLED, SEEN_MEAN),)),
    Mutant(
        "pool-mean/without-cls",
        ENCODER,
        (at(CLS, ""), *WITHOUT_CLS, at(POOLED, SEEN_MEAN)),
        also=("cls-missing",),
    ),
    Mutant("pool-mean-with-padding", ENCODER, (at(POOLED, "x.mean(dim=1)"),), also=("pool-mean",)),
    Mutant("pool-last", ENCODER, (at(POOLED, "x[:, -1, :]"),)),
    Mutant("pool-max", ENCODER, (at(POOLED, "x.amax(dim=1)"),)),
    Mutant(
        "pool-max/seen",
        ENCODER,
        (at(POOLED, "x.masked_fill(ignore[:, :, None], -1e9).amax(dim=1)"),),
    ),
    Mutant(
        "pool-flatten",
        ENCODER,
        (at(HEAD, HEAD.replace("d_model,", "(max_len + 1) * d_model,")), at(POOLED, PADDED)),
    ),
    Mutant("probabilities-returned", ENCODER, (at(LOGITS, f"torch.softmax({LOGITS}, dim=-1)"),)),
    Mutant(
        "probabilities-returned/log", ENCODER, (at(LOGITS, f"torch.log_softmax({LOGITS}, dim=-1)"),)
    ),
    Mutant("probabilities-returned/sigmoid", ENCODER, (at(LOGITS, f"torch.sigmoid({LOGITS})"),)),
    Mutant("axis-squeezed", ENCODER, (at(LOGITS, f"{LOGITS}.squeeze()"),)),
    Mutant(
        "parameters-dead/pooler",
        ENCODER,
        (at(HEAD, f"{HEAD}        self.pooler = nn.Linear(d_model, d_model)\n"),),
    ),
)

PLACES = (
    Mutant("pe-missing", ENCODER, (at(POSITIONS, "x"),)),
    Mutant("pe-axis", ENCODER, (at(POSITIONS, "x + self.positions[:batch, None]"),)),
    Mutant(
        "pe-is-trained/model",
        ENCODER,
        (
            at("    positions: Tensor\n\n", ""),
            at(
                'self.register_buffer("positions", positions, persistent=False)',
                "self.positions = nn.Parameter(positions)",
            ),
        ),
    ),
    Mutant(
        "pe-too-short/model", ENCODER, (at(TABLE, "sinusoidal_positional_encoding(50, d_model)"),)
    ),
    Mutant(
        "pe-too-short/half",
        ENCODER,
        (at(TABLE, "sinusoidal_positional_encoding(max_len // 2, d_model)"),),
    ),
    Mutant(
        "pe-scaled-embedding",
        ENCODER,
        (
            at(
                "tokens = self.embedding(input_ids)",
                "tokens = self.embedding(input_ids) * self.cls.numel() ** 0.5",
            ),
        ),
        right=True,
    ),
    Mutant("cls-masked", ENCODER, (at("torch.zeros(batch, 1, ", "torch.ones(batch, 1, "),)),
    Mutant("padding-mask-missing", ENCODER, (at(ENCODED, "self.encoder(x)"),)),
    Mutant(
        "padding-mask-unshifted",
        ENCODER,
        (at(IGNORE, "torch.cat([padding_mask(input_ids, self.pad_id), seen], dim=1)"),),
    ),
    Mutant(
        "mask-by-position/model",
        ENCODER,
        (
            at(
                "padding_mask(input_ids, self.pad_id)",
                "torch.arange(length) >= (input_ids != self.pad_id).sum(1, True)",
            ),
        ),
    ),
    Mutant(
        "argument-ignored/layers",
        ENCODER,
        (at("TransformerEncoder(n_layers,", "TransformerEncoder(2,"),),
    ),
    Mutant(
        "argument-ignored/pad-id-of-model",
        ENCODER,
        (at("padding_mask(input_ids, self.pad_id)", "padding_mask(input_ids, 0)"),),
    ),
    Mutant(
        "argument-ignored/model-heads",
        ENCODER,
        (at("d_model, n_heads, d_ff, dropout)", "d_model, 1, d_ff, dropout)"),),
        also=("heads-single",),
    ),
    Mutant(
        "dropout-in-eval/model",
        ENCODER,
        (at("self.dropout(x + ", "nn.functional.dropout(p=self.dropout.p, input=x + "),),
    ),
    Mutant(
        "batch-mixed/model", ENCODER, (at(LOGITS, "self.head(x[:, 0, :] + x[:, 0, :].mean(0))"),)
    ),
)

CLASSIFIERS = (*POOLING, *PLACES)
