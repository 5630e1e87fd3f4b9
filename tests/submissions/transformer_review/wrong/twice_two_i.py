# broadcasting and sums instead of matmul; one query at a time
import torch
import torch.nn as nn
import math


def scaled_dot_product_attention(query, key, value, mask=None):
    T_q, d_k = query.shape[-2:]
    T_k = key.shape[-2]
    lead = query.shape[:-2]
    if mask is not None:
        mask = (mask != 0).expand(*lead, T_q, T_k)
    outputs, all_weights = [], []
    for i in range(T_q):
        q = query[..., i:i + 1, :]
        scores = (q * key).sum(dim=-1) / math.sqrt(d_k)          # (..., T_k)
        if mask is not None:
            scores = scores.masked_fill(~mask[..., i, :], float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        outputs.append((weights.unsqueeze(-1) * value).sum(dim=-2))
        all_weights.append(weights)
    return torch.stack(outputs, dim=-2), torch.stack(all_weights, dim=-2)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("heads do not divide the model size")
        self.n_heads = n_heads
        self.d_k = d_model // n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.o_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        if mask is not None and mask.dim() == 4:
            mask = mask.squeeze(1)
        contexts, maps = [], []
        for h in range(self.n_heads):
            part = slice(h * self.d_k, (h + 1) * self.d_k)
            c, w = scaled_dot_product_attention(q[..., part], k[..., part], v[..., part], mask)
            contexts.append(c)
            maps.append(w)
        return self.o_proj(torch.cat(contexts, dim=-1)), torch.stack(maps, dim=1)


def sinusoidal_positional_encoding(max_len, d_model):
    table = torch.zeros(max_len, d_model)
    for pos in range(max_len):
        for i in range(0, d_model, 2):
            angle = pos / math.pow(10000, 2 * i / d_model)
            table[pos, i] = math.sin(angle)
            table[pos, i + 1] = math.cos(angle)
    return table


def causal_mask(size):
    mask = torch.zeros(size, size, dtype=torch.bool)
    for i in range(size):
        mask[i, : i + 1] = True
    return mask


def keep(padding):
    return None if padding is None else torch.logical_not(padding).view(padding.shape[0], 1, 1, -1)


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.fc2 = nn.Linear(d_ff, d_model)
        self.fc1 = nn.Linear(d_model, d_ff)
        self.attn = MultiHeadAttention(d_model, n_heads)
        self.add_norm_1 = nn.LayerNorm(d_model)
        self.add_norm_2 = nn.LayerNorm(d_model)

    def forward(self, x, key_padding_mask=None):
        residual = x
        x, _ = self.attn(x, x, x, keep(key_padding_mask))
        x = self.add_norm_1(x + residual)
        residual = x
        x = self.fc2(nn.functional.relu(self.fc1(x)))
        return self.add_norm_2(x + residual)


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.fc2 = nn.Linear(d_ff, d_model)
        self.fc1 = nn.Linear(d_model, d_ff)
        self.self_attn = MultiHeadAttention(d_model, n_heads)
        self.cross_attn = MultiHeadAttention(d_model, n_heads)
        self.add_norm_1 = nn.LayerNorm(d_model)
        self.add_norm_2 = nn.LayerNorm(d_model)
        self.add_norm_3 = nn.LayerNorm(d_model)

    def forward(self, x, memory, memory_key_padding_mask=None):
        residual = x
        x, _ = self.self_attn(x, x, x, causal_mask(x.shape[1]))
        x = self.add_norm_1(x + residual)
        residual = x
        x, _ = self.cross_attn(x, memory, memory, keep(memory_key_padding_mask))
        x = self.add_norm_2(x + residual)
        residual = x
        x = self.fc2(nn.functional.relu(self.fc1(x)))
        return self.add_norm_3(x + residual)


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.patch_size = patch_size
        self.per_side = 8 // patch_size
        self.embed = nn.Linear(patch_size * patch_size, d_model)
        self.cls_vector = nn.Parameter(torch.randn(d_model) / d_model)
        self.positions = nn.Parameter(torch.randn(self.per_side ** 2 + 1, d_model) / d_model)
        self.encoder_block = EncoderBlock(d_model, n_heads, d_ff)
        self.to_classes = nn.Linear(d_model, n_classes)

    def forward(self, images):
        p = self.patch_size
        sequence = [self.cls_vector.expand(images.shape[0], -1)]
        for row in range(self.per_side):
            for col in range(self.per_side):
                square = images[:, row * p:(row + 1) * p, col * p:(col + 1) * p]
                sequence.append(self.embed(square.flatten(1)))
        x = torch.stack(sequence, dim=1) + self.positions
        x = self.encoder_block(x)
        return self.to_classes(x[:, 0])


def mean_aggregate(features, adjacency):
    rows = []
    for i in range(features.shape[0]):
        total, count = features[i], 1
        for j in range(features.shape[0]):
            if j != i and adjacency[i][j] > 0:
                total = total + features[j]
                count += 1
        rows.append(total / count)
    return torch.stack(rows)
