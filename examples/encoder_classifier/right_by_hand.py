"""Homework for lesson 84: a Transformer encoder that classifies sentences, all by hand."""

import math

import torch
import torch.nn.functional as F
from torch import nn

# ---------- milestone 1: positions ----------


def sinusoidal_positional_encoding(max_len, d_model):
    position = torch.arange(max_len, dtype=torch.float32).unsqueeze(1)  # (max_len, 1)
    exponent = torch.arange(0, d_model, 2, dtype=torch.float32) / d_model  # (D / 2,)
    angle = position / 10000**exponent  # (max_len, D / 2)
    pe = torch.zeros(max_len, d_model)
    pe[:, 0::2] = torch.sin(angle)
    pe[:, 1::2] = torch.cos(angle)
    return pe


# ---------- milestone 2: encoder ----------


def padding_mask(input_ids, pad_id):
    """True = padding, to be ignored"""
    return input_ids == pad_id


class SelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)

    def split(self, x):
        batch, length, d_model = x.shape
        return x.view(batch, length, self.n_heads, d_model // self.n_heads).transpose(1, 2)

    def forward(self, x, key_padding_mask=None):
        q, k, v = self.split(self.w_q(x)), self.split(self.w_k(x)), self.split(self.w_v(x))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (B, H, T, T)
        if key_padding_mask is not None:
            scores = scores.masked_fill(key_padding_mask[:, None, None, :], float("-inf"))
        out = scores.softmax(dim=-1) @ v  # (B, H, T, d_k)
        return self.w_o(out.transpose(1, 2).flatten(2))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = SelfAttention(d_model, n_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, key_padding_mask=None):
        x = self.norm1(x + self.dropout(self.attention(x, key_padding_mask)))
        return self.norm2(x + self.dropout(self.ffn(x)))


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.blocks = nn.ModuleList(
            EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers)
        )

    def forward(self, x, key_padding_mask=None):
        for block in self.blocks:
            x = block(x, key_padding_mask)
        return x


# ---------- milestone 3: classifier and training ----------


class TransformerEncoderClassifier(nn.Module):
    def __init__(
        self,
        vocab_size,
        n_classes,
        d_model=32,
        n_heads=4,
        d_ff=64,
        n_layers=2,
        max_len=64,
        pad_id=0,
        dropout=0.0,
    ):
        super().__init__()
        self.pad_id = pad_id
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model) * 0.02)
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len, d_model))
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, input_ids):
        batch = input_ids.shape[0]
        x = torch.cat([self.cls.expand(batch, -1, -1), self.embedding(input_ids)], dim=1)
        x = x + self.pe[: x.shape[1]]
        mask = F.pad(padding_mask(input_ids, self.pad_id), (1, 0), value=False)  # CLS is no padding
        encoded = self.encoder(x, mask)
        return self.head(encoded[:, 0, :])


def parameter_groups(model, weight_decay):
    decay, no_decay = [], []
    for parameter in model.parameters():
        if parameter.ndim == 2:  # weight matrices and embeddings
            decay.append(parameter)
        else:  # biases, LayerNorm, CLS
            no_decay.append(parameter)
    return [
        {"params": decay, "weight_decay": weight_decay},
        {"params": no_decay, "weight_decay": 0.0},
    ]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return lr_max * step / warmup_steps
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return lr_max * 0.5 * (1 + math.cos(math.pi * progress))


def train(
    model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1
):
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    warmup_steps = max(1, epochs // 10)  # one step an epoch: all sentences at once
    losses = []
    model.train()
    for epoch in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(epoch, warmup_steps, epochs, lr_max)
        loss = F.cross_entropy(model(input_ids), labels, label_smoothing=label_smoothing)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    return losses


# ---------- milestone 4: questions ----------

ANSWERS = {
    "next-row-of-the-sinusoidal-table": {
        "pos": 3,
        "dim0": 0.1411,
        "dim1": -0.99,
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
    "where-the-norm-stands": {
        "norm(x + f(x))": "post-norm",
        "x + f(norm(x))": "pre-norm",
        "x + norm(f(x))": "neither",
        "norm(f(x))": "neither",
        "norm(x) + f(norm(x))": "neither",
    },
    "shape-after-two-blocks": (2, 4, 16),
    "parameters-by-submodule": [16640, 33088, 128, 128, 49984],
    "parameters-of-three-blocks": 25248,
    "batch-first-forgotten": "D",
    "vector-for-the-classifier-head": "C",
    "causal-mask-and-cls-in-front": "B",
    "mean-over-real-tokens": 4.0,
    "shapes-through-the-classifier": [
        (8, 20, 32),
        (8, 21, 32),
        (8, 21),
        (8, 21, 32),
        (8, 32),
        (8, 3),
    ],
    "polarity-of-the-key-padding-mask": "D",
    "mask-for-the-sequence-with-cls": "C",
    "weights-of-equal-scores-with-padding": [0.333, 0.333, 0.333, 0.333],
    "weights-shape-inside-the-classifier": (3, 4, 12, 12),
    "what-adamw-decouples": "A",
    "decay-without-gradient": {"step": 3, "theta": 3.9403},
    "first-step-of-adam-with-l2": 3.95,
    "which-parameters-decay": {
        "W_Q matrix": "decay",
        "FFN matrix": "decay",
        "FFN bias": "no decay",
        "LayerNorm gain": "no decay",
        "LayerNorm bias": "no decay",
        "head matrix": "decay",
        "head bias": "no decay",
    },
    "warmup-and-cosine-table": [1e-4, 5e-4, 1e-3, 9.330e-4, 5e-4, 1.786e-4, 0],
    "smoothed-target-of-four-classes": [0.025, 0.025, 0.925, 0.025],
    "lowest-smoothed-loss-of-two-classes": 0.1985,
    "loss-below-the-floor": "B",
    "sound-or-flawed": {
        "1": "sound",
        "2": "flawed",
        "3": "flawed",
        "4": "sound",
        "5": "flawed",
        "6": "sound",
    },
    "cls-by-analogy": (
        "A minute-taker sits in a meeting, says nothing about the matter, and listens to "
        "everybody. After the meeting the boss reads only the minutes and decides. Any of the "
        "speakers could be asked instead, but each of them would tell mostly his own view. The "
        "analogy breaks where the speakers also listen to the minute-taker, round after round, "
        "and all talk at the same time. And the real [CLS] does not understand anything: it takes "
        "a weighted average of the others, with weights that come from training."
    ),
    "padding-mask-in-plain-words": (
        "Sentences are worked on many at a time, in one table, and a table needs rows of the same "
        "length. So short sentences are filled up with a blank word that means nothing. When each "
        "word looks around to see what the others can tell it, it shares out its attention among "
        "them. The mask says which words are blanks, and they get no share, so that the real "
        "words share out everything among themselves. Without it the result of a sentence would "
        "depend on how many blanks it got, and so on which other sentences happened to be in the "
        "same table."
    ),
    "break-the-no-positions-rule": (
        "The rule needs every part to treat the words as a set: attention without a mask that "
        "knows the order, the FFN for each word by itself, and reading at [CLS]. With a causal "
        "mask it falls: the second word sees two words and the third sees three, so the order "
        "leaks in even without positions. Reading the last word in place of [CLS] breaks it too. "
        "It would go unnoticed where a bag of words is enough, such as finding the topic of a "
        "news article. I would notice it by shuffling the words of one input and comparing the "
        "logits: if they are equal up to rounding, the model does not know the order."
    ),
    "classifier-without-the-stack": (
        "Without any block [CLS] has never met a word, so the logits are the same for every "
        "sentence and the best it can learn is how frequent the classes are. One can take the "
        "mean of the embeddings instead, which gives a bag of words without order. With exactly "
        "one block [CLS] takes one weighted average of the words in each head. That is enough for "
        'key words, but the words have not read each other yet, so "not good" is hard. A wider '
        "block or more heads give more averages but no second round. Using the same block several "
        "times gives the rounds with few parameters, and takes as long as a stack."
    ),
    "adamw-in-plain-words": (
        "Adam makes the step of each weight smaller when its gradients are large. An L2 penalty "
        "is part of the gradient, so the pull to zero gets smaller too, for just those weights. "
        "AdamW does the pull separately: at each step every decayed weight loses the same small "
        "share of itself, whatever its gradients were. Biases and the parameters of the norms are "
        "left out, because they only shift or scale and pulling them to zero disturbs without "
        "making the model simpler. With plain SGD there is no difference worth speaking of, and "
        "with very little decay or a short training one hardly sees it either."
    ),
}


if __name__ == "__main__":
    torch.manual_seed(0)
    sentences = torch.randint(1, 12, (24, 6))
    classes = sentences[:, 0] % 3
    model = TransformerEncoderClassifier(vocab_size=12, n_classes=3)
    losses = train(model, sentences, classes, lr_max=5e-3)
    accuracy = (model(sentences).argmax(-1) == classes).float().mean().item()
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}, accuracy {accuracy:.2f}")
