"""Lesson 84, "Your turn: build the classifier", with the layers that PyTorch brings along."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR


def sinusoidal_positional_encoding(max_len: int, d_model: int) -> Tensor:
    pos = torch.arange(max_len, dtype=torch.float).view(-1, 1)
    frequencies = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    return torch.stack((torch.sin(pos * frequencies), torch.cos(pos * frequencies)), -1).flatten(1)


def padding_mask(input_ids: Tensor, pad_id: int) -> Tensor:
    return torch.eq(input_ids, pad_id)


class EncoderBlock(nn.TransformerEncoderLayer):
    """PyTorch's own layer. It is post-norm with ReLU unless told otherwise."""

    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__(d_model, n_heads, d_ff, dropout, batch_first=True)

    def forward(self, x: Tensor, key_padding_mask: Tensor | None = None) -> Tensor:
        return super().forward(x, src_key_padding_mask=key_padding_mask)


class TransformerEncoder(nn.Module):
    def __init__(
        self, n_layers: int, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(d_model, n_heads, d_ff, dropout, batch_first=True)
        self.stack = nn.TransformerEncoder(layer, num_layers=n_layers)

    def forward(self, x: Tensor, key_padding_mask: Tensor | None = None) -> Tensor:
        return self.stack(x, src_key_padding_mask=key_padding_mask)


class TransformerEncoderClassifier(nn.Module):
    def __init__(
        self,
        vocab_size: int,
        n_classes: int,
        d_model: int = 32,
        n_heads: int = 4,
        d_ff: int = 64,
        n_layers: int = 2,
        max_len: int = 64,
        pad_id: int = 0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.d_model, self.pad_id = d_model, pad_id
        # one row more than there are tokens: the last one is [CLS]
        self.cls_id = vocab_size
        self.embed = nn.Embedding(vocab_size + 1, d_model, padding_idx=pad_id)
        self.dropout = nn.Dropout(dropout)
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.classify = nn.Linear(d_model, n_classes)
        pe = sinusoidal_positional_encoding(max_len + 1, d_model)
        self.register_buffer("positions", pe, persistent=False)

    def forward(self, input_ids: Tensor) -> Tensor:
        cls = torch.full_like(input_ids[:, :1], self.cls_id)
        ids = torch.cat([cls, input_ids], dim=1)  # (B, T + 1)
        x = self.embed(ids) * math.sqrt(self.d_model)
        x = self.dropout(x + self.positions[: ids.size(1)])
        # built from the ids with CLS in front, so it has T + 1 columns and CLS is never masked
        x = self.encoder(x, padding_mask(ids, self.pad_id))
        return self.classify(x[:, 0])


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    def is_decayed(name: str, parameter: Tensor) -> bool:
        return parameter.dim() > 1 and "embed" not in name

    named = list(model.named_parameters())
    return [
        {"params": [p for n, p in named if is_decayed(n, p)], "weight_decay": weight_decay},
        {"params": [p for n, p in named if not is_decayed(n, p)], "weight_decay": 0.0},
    ]


def warmup_cosine(step: int, warmup_steps: int, total_steps: int, lr_max: float) -> float:
    if step <= warmup_steps:
        return lr_max * step / warmup_steps
    cosine = math.cos(math.pi * (step - warmup_steps) / (total_steps - warmup_steps))
    return lr_max * (0.5 + 0.5 * cosine)


def batches(n: int, size: int) -> Iterator[Tensor]:
    yield from torch.randperm(n).split(size)


def train(
    model: nn.Module,
    input_ids: Tensor,
    labels: Tensor,
    epochs: int = 50,
    lr_max: float = 1e-3,
    weight_decay: float = 0.01,
    label_smoothing: float = 0.1,
    batch_size: int = 32,
) -> list[float]:
    n = len(input_ids)
    total_steps = epochs * math.ceil(n / batch_size)
    warmup_steps = max(1, int(0.1 * total_steps))
    criterion = nn.CrossEntropyLoss(label_smoothing=label_smoothing)
    optimizer = AdamW(parameter_groups(model, weight_decay), lr=1.0)
    # LambdaLR multiplies by what it is given, and the optimizer's lr is 1
    scheduler = LambdaLR(
        optimizer, lambda step: warmup_cosine(step, warmup_steps, total_steps, lr_max)
    )
    model.train()
    history = []
    for _ in range(epochs):
        total = 0.0
        for index in batches(n, batch_size):
            optimizer.zero_grad()
            loss = criterion(model(input_ids[index]), labels[index])
            loss.backward()
            optimizer.step()
            scheduler.step()
            total += loss.item() * len(index)
        history.append(total / n)
    return history


ANSWERS = {
    # positions
    "next-row-of-the-sinusoidal-table": {
        "pos": 3,
        "dim0": 0.1411,
        "dim1": -0.9900,
        "dim2": 0.2955,
        "dim3": 0.9553,
    },
    "shuffled-sentence-without-positions": "A",
    "equivariant-invariant-or-neither": {
        "a": "equivariant",
        "b": "invariant",
        "c": "invariant",
        "d": "neither",
        "e": "neither",
        "f": "neither",
    },
    # the encoder
    "where-the-norm-stands": {
        "x + f(norm(x))": "pre-norm",
        "norm(x + f(x))": "post-norm",
        "x + norm(f(x))": "neither",
        "norm(f(x))": "neither",
        "norm(x) + f(norm(x))": "neither",
    },
    "shape-after-two-blocks": (2, 4, 16),
    "parameters-by-submodule": {
        "attention": 16640,
        "FFN": 33088,
        "first LayerNorm": 128,
        "second LayerNorm": 128,
        "whole block": 49984,
    },
    "parameters-of-three-blocks": 25248,
    "batch-first-forgotten": "D",
    # CLS and padding
    "vector-for-the-classifier-head": "C",
    "causal-mask-and-cls-in-front": "B",
    "mean-over-real-tokens": 4,
    "shapes-through-the-classifier": {
        "token embeddings": (8, 20, 32),
        "with [CLS]": (8, 21, 32),
        "key padding mask for the encoder": (8, 21),
        "encoder output": (8, 21, 32),
        "[CLS] vector": (8, 32),
        "logits": (8, 3),
    },
    "polarity-of-the-key-padding-mask": "D",
    "mask-for-the-sequence-with-cls": "C",
    "weights-of-equal-scores-with-padding": [0.3333, 0.3333, 0.3333, 0.3333],
    "weights-shape-inside-the-classifier": (3, 4, 12, 12),
    # training
    "what-adamw-decouples": "A",
    "decay-without-gradient": {"step": 3, "theta": 3.9403},
    "first-step-of-adam-with-l2": 3.95,
    "which-parameters-decay": {
        "W_Q matrix": "decay",
        "FFN matrix": "decay",
        "head matrix": "decay",
        "FFN bias": "no decay",
        "head bias": "no decay",
        "LayerNorm gain": "no decay",
        "LayerNorm bias": "no decay",
    },
    "warmup-and-cosine-table": {
        "step 1": 0.0001,
        "step 5": 0.0005,
        "step 10": 0.001,
        "step 25": 0.000933,
        "step 55": 0.0005,
        "step 75": 0.0001786,
        "step 100": 0.0,
    },
    "smoothed-target-of-four-classes": [0.025, 0.025, 0.925, 0.025],
    "lowest-smoothed-loss-of-two-classes": 0.199,
    "loss-below-the-floor": "B",
    "sound-or-flawed": {
        "1": "sound",
        "2": "flawed",
        "3": "flawed",
        "4": "sound",
        "5": "flawed",
        "6": "sound",
    },
    # open
    "cls-by-analogy": (
        "At a fair every guest drops notes into an empty box at the entrance, and the organiser "
        "reads only the box. The box has no opinion of its own, so nothing covers up what the "
        "guests wrote, and it always stands at the same place. It is better than asking whoever "
        "came last. The analogy breaks because the box is the same before and after for the guests: "
        "a real [CLS] is read by the words too. It also doesn't collect whole notes but a mixture, "
        "more of some and less of others, and its starting value was learned."
    ),
    "padding-mask-in-plain-words": (
        "A computer works on many sentences at once when they fit into one rectangle. So the short "
        "ones are lengthened with filler words. Every word then looks at the words around it and "
        "decides how much of each it takes into account; in all it has one whole to give away. The "
        "mask marks the fillers, and they are left out before the shares are computed. Each "
        "sentence has its own marks. Without them some attention would go to fillers, and the "
        "same sentence would be judged differently next to a long one than next to a short one."
    ),
    "break-the-no-positions-rule": (
        "As long as all layers treat the tokens as a set, nothing can break it: attention is a sum "
        "over all tokens and sums do not know an order. One gets around it by dropping that "
        "premise. If I put a convolution of width 3 before the encoder, A B C and C A B give "
        "different vectors. A causal mask would do it as well. For sentiment of film reviews one "
        "might never notice, since words like awful decide most cases. A test set in which every "
        "sentence appears in two orders with different labels would show it at once: accuracy "
        "stays at chance level. No error message would ever come."
    ),
    "classifier-without-the-stack": (
        "With no block at all the head gets the same [CLS] vector each time, so it can only guess "
        "the most frequent class. With one block it gets one mixture of tokens for each head, asked "
        "with the same query for all sentences. So it can look for words, and with positions for "
        "words at places, but not for words that depend on other words, since the tokens go into "
        "the mixture before they have met. In place of the stack I could put a recurrent layer, "
        "which costs the parallel computation, or mean pooling over embeddings, which costs the "
        "order. For easy tasks one block is all one needs."
    ),
    "adamw-in-plain-words": (
        "Weight decay means that weights are pulled a little towards zero all the time. Adam with "
        "an L2 penalty puts this pull into the gradient and then divides by how large gradients "
        "have been, so busy weights are hardly pulled and quiet ones a lot. AdamW pulls afterwards "
        "and pulls all by the same share. It does not lower the learning rate, but the pull is "
        "multiplied by it. Norm parameters and biases stay out, since there is no reason why they "
        "should be near zero. The difference hardly matters when all gradients have about the same "
        "size or when the decay is tiny."
    ),
}
