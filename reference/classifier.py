"""A sentence classifier on an encoder, pooled at [CLS] (lesson 84; Devlin et al. 2019, 3)."""

import torch
from torch import Tensor, nn

from reference.encoder import TransformerEncoder
from reference.masks import padding_mask
from reference.positional import sinusoidal_positional_encoding


class TransformerEncoderClassifier(nn.Module):
    """Embedding + positional encoding, N encoder blocks, the output at [CLS], a linear head.

    [CLS] is a learned vector that the model itself puts before the tokens, at position 0.

    Args:
        vocab_size: token ids, 0 to vocab_size - 1.
        n_classes: classes, C.
        d_model: features of a token, D; even.
        n_heads: heads; must divide d_model.
        d_ff: hidden features of the feed-forward networks.
        n_layers: encoder blocks, N.
        max_len: tokens of the longest sentence, [CLS] not counted; graded below that.
        pad_id: the id that marks padding.
        dropout: share that is dropped in training of the embeddings and of each sublayer's output.

    Raises:
        ValueError: n_heads does not divide d_model, or d_model is odd.
    """

    positions: Tensor

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
        self.max_len = max_len
        self.pad_id = pad_id
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.cls = nn.Parameter(torch.randn(d_model))
        positions = sinusoidal_positional_encoding(max_len + 1, d_model)  # one more, for [CLS]
        self.register_buffer("positions", positions, persistent=False)
        self.dropout = nn.Dropout(dropout)
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Map int64 (B, T), which holds no [CLS], to logits (B, C).

        Raises:
            ValueError: T is greater than max_len.
        """
        batch, length = input_ids.shape
        if length > self.max_len:
            raise ValueError(f"{length} tokens, but max_len={self.max_len}")
        tokens = self.embedding(input_ids)  # (B, T, D)
        cls = self.cls.expand(batch, 1, -1)  # (B, 1, D)
        x = torch.cat([cls, tokens], dim=1)  # (B, 1 + T, D)
        x = self.dropout(x + self.positions[: 1 + length])
        seen = torch.zeros(batch, 1, dtype=torch.bool, device=x.device)  # [CLS] is never ignored
        ignore = torch.cat([seen, padding_mask(input_ids, self.pad_id)], dim=1)  # (B, 1 + T)
        x = self.encoder(x, ignore)  # (B, 1 + T, D)
        logits: Tensor = self.head(x[:, 0, :])  # [CLS] alone
        return logits  # (B, C)
