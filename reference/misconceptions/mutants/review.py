"""Wrong graph layers and wrong PixelBERTs."""

from functools import partial

from reference.misconceptions.mutants.places import REVIEW
from reference.misconceptions.mutants.source import Change, Mutant

graph_at = partial(Change, "graph")
at = partial(Change, "pixelbert")

TAKEN = "(adjacency.bool() | loops).to(features.dtype)"
MEAN = "(taken @ features) / taken.sum(dim=1, keepdim=True)"

GRAPHS = (
    Mutant("graph-no-self-loop", REVIEW, (graph_at(TAKEN, "adjacency.to(features.dtype)"),)),
    Mutant(
        "graph-no-self-loop/clamped",
        REVIEW,
        (
            graph_at(TAKEN, "adjacency.to(features.dtype)"),
            graph_at("keepdim=True)  #", "keepdim=True).clamp(min=1)  #"),
        ),
    ),
    Mutant("graph-sum", REVIEW, (graph_at(MEAN, "taken @ features"),)),
    Mutant(
        "graph-column-normalised",
        REVIEW,
        (graph_at(MEAN, "(taken / taken.sum(dim=0)) @ features"),),
    ),
    Mutant("graph-transposed", REVIEW, (graph_at(TAKEN, f"{TAKEN}.T"),)),
    Mutant(
        "graph-symmetric",
        REVIEW,
        (graph_at(MEAN, "taken / (taken.sum(1)[:, None] * taken.sum(1)).sqrt() @ features"),),
    ),
    Mutant(
        "graph-symmetric/columns",
        REVIEW,
        (graph_at(MEAN, "taken / (taken.sum(1)[:, None] * taken.sum(0)).sqrt() @ features"),),
    ),
    Mutant(
        "graph-self-loop-twice", REVIEW, (graph_at(TAKEN, "adjacency.to(features.dtype) + loops"),)
    ),
    Mutant(
        "hard-coded-figures/graph", REVIEW, (graph_at("torch.eye(len(adjacency),", "torch.eye(3,"),)
    ),
    Mutant(
        "input-modified/graph",
        REVIEW,
        (graph_at(TAKEN, "adjacency.fill_diagonal_(1).to(features.dtype)"),),
    ),
)

CLS = "        self.cls = nn.Parameter(0.02 * torch.randn(d_model))\n"
POSITIONS = "        self.positions = nn.Parameter(0.02 * torch.randn(1 + n_patches, d_model))\n"
JOINED = "torch.cat([cls, x], dim=1) + self.positions"
EXPANDED = "        cls = self.cls.expand(x.shape[0], 1, -1)  # (B, 1, D)\n"
POOLED = "x[:, 0, :]"
LOGITS = "self.head(x[:, 0, :])"
HEAD = "        self.head = nn.Linear(d_model, n_classes)\n"

PIXELS = (
    Mutant(
        "patches-by-reshape",
        REVIEW,
        (at("    x = x.transpose(2, 3)  # (B, R/p, C/p, p, p)\n", ""),),
    ),
    Mutant("pe-missing/patches", REVIEW, (at(" + self.positions", ""), at(POSITIONS, ""))),
    Mutant(
        "pe-missing/patches-unused",
        REVIEW,
        (at(" + self.positions", ""),),
        also=("parameters-dead",),
    ),
    Mutant(
        "cls-missing/patches",
        REVIEW,
        (at(CLS, ""), at(EXPANDED, ""), at(JOINED, "x + self.positions[1:]")),
    ),
    Mutant(
        "cls-appended/patches",
        REVIEW,
        (at("[cls, x]", "[x, cls]"), at(POOLED, "x[:, -1, :]")),
        right=True,  # learned positions are only numbered otherwise
    ),
    Mutant(
        "cls-appended/patches-first-read",
        REVIEW,
        (at("[cls, x]", "[x, cls]"),),
        also=("cls-missing",),
    ),
    Mutant(
        "cls-not-learned/patches",
        REVIEW,
        (
            at(CLS, "        self.cls = torch.ones(d_model)\n"),
            at(JOINED, "torch.cat([cls, x + self.positions[1:]], dim=1)"),
        ),
    ),
    Mutant("pool-mean/patches", REVIEW, (at(POOLED, "x.mean(dim=1)"),)),
    Mutant("pool-last/patches", REVIEW, (at(POOLED, "x[:, -1, :]"),)),
    Mutant("pool-max/patches", REVIEW, (at(POOLED, "x.amax(dim=1)"),)),
    Mutant(
        "pool-flatten/patches",
        REVIEW,
        (
            at(HEAD, HEAD.replace("(d_model", "((1 + n_patches) * d_model")),
            at(POOLED, "x.flatten(1)"),
        ),
    ),
    Mutant(
        "probabilities-returned/patches", REVIEW, (at(LOGITS, f"torch.softmax({LOGITS}, dim=-1)"),)
    ),
    Mutant(
        "probabilities-returned/patches-log",
        REVIEW,
        (at(LOGITS, f"torch.log_softmax({LOGITS}, dim=-1)"),),
    ),
    Mutant("axis-squeezed/patches", REVIEW, (at(LOGITS, f"{LOGITS}.squeeze()"),)),
    Mutant(
        "batch-mixed/patches", REVIEW, (at(LOGITS, "self.head(x[:, 0, :] + x[:, 0, :].mean(0))"),)
    ),
    Mutant(
        "argument-ignored/patches",
        REVIEW,
        (at("EncoderBlock(d_model, n_heads, d_ff)", "EncoderBlock(d_model, 1, d_ff)"),),
        also=("heads-single",),
    ),
    Mutant("hard-coded-figures/patches", REVIEW, (at("(IMAGE_SIZE // patch_size) ** 2", "16"),)),
    Mutant(
        "parameters-dead/patches",
        REVIEW,
        (at(HEAD, f"{HEAD}        self.pooler = nn.Linear(d_model, d_model)\n"),),
    ),
)

REVIEWS = (*GRAPHS, *PIXELS)
