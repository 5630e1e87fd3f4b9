"""Own layers only. PyTorch's own nn.MultiheadAttention and F.scaled_dot_product_attention are used nowhere
but in the self-test at the bottom."""
import math
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    # same as F.scaled_dot_product_attention(query, key, value, attn_mask=mask), but with the weights
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~(mask > 0), float("-inf"))
    weights = F.softmax(scores, dim=-1, dtype=torch.float32)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    """State dict laid out as that of nn.MultiheadAttention(bias=False): in_proj_weight, out_proj.weight."""

    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.in_proj_weight = nn.Parameter(torch.empty(3 * embed_dim, embed_dim))
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        nn.init.xavier_uniform_(self.in_proj_weight)

    def forward(self, query, key, value, attn_mask=None):
        w_q, w_k, w_v = torch.tensor_split(self.in_proj_weight, 3)
        q, k, v = F.linear(query, w_q), F.linear(key, w_k), F.linear(value, w_v)
        q, k, v = [torch.stack(torch.tensor_split(t, self.num_heads, dim=-1), dim=1) for t in (q, k, v)]
        out, weights = scaled_dot_product_attention(q, k, v, attn_mask)
        return self.out_proj(torch.hstack(list(out.permute(1, 0, 3, 2))).mT), weights


def sinusoidal_positional_encoding(max_len, d_model):
    position = torch.arange(0, max_len).double().unsqueeze(1)
    index = torch.arange(0, d_model, 2).double()
    angles = position / (10000 ** (index / d_model))
    encoding = torch.zeros(max_len, d_model)
    encoding[:, torch.arange(0, d_model, 2)] = angles.sin().float()
    encoding[:, torch.arange(1, d_model, 2)] = angles.cos().float()
    return encoding


def causal_mask(size):
    return torch.tril(torch.ones(size, size, dtype=torch.int64)).bool()


class EncoderBlock(nn.Module):
    def __init__(self, d_model, nhead, dim_feedforward):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, nhead)
        self.linear1 = nn.Linear(d_model, dim_feedforward)
        self.linear2 = nn.Linear(dim_feedforward, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, src, src_key_padding_mask=None):
        mask = None
        if src_key_padding_mask is not None:
            mask = torch.logical_not(src_key_padding_mask)[:, None, None, :]
        src2 = self.norm1(src)
        src = src + self.self_attn(src2, src2, src2, attn_mask=mask)[0]
        src = src + self.linear2(F.relu(self.linear1(self.norm2(src))))
        return src


class DecoderBlock(nn.Module):
    def __init__(self, d_model, nhead, dim_feedforward):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, nhead)
        self.multihead_attn = MultiHeadAttention(d_model, nhead)
        self.linear1 = nn.Linear(d_model, dim_feedforward)
        self.linear2 = nn.Linear(dim_feedforward, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)

    def forward(self, tgt, memory, memory_key_padding_mask=None):
        tgt_mask = causal_mask(tgt.shape[1]).to(tgt.device)
        tgt = self.norm1(tgt + self.self_attn(tgt, tgt, tgt, attn_mask=tgt_mask)[0])
        mask = None
        if memory_key_padding_mask is not None:
            mask = torch.logical_not(memory_key_padding_mask)[:, None, None, :]
        tgt = self.norm2(tgt + self.multihead_attn(tgt, memory, memory, attn_mask=mask)[0])
        tgt = self.norm3(tgt + self.linear2(F.relu(self.linear1(tgt))))
        return tgt


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.patch_size = patch_size
        self.to_tokens = nn.Linear(patch_size ** 2, d_model)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model) * 0.02)
        self.pos = nn.Parameter(torch.randn(1, 1 + (8 // patch_size) ** 2, d_model) * 0.02)
        self.encoder = EncoderBlock(d_model, n_heads, d_ff)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, images):
        patches = F.unfold(images.unsqueeze(1).float(), self.patch_size, stride=self.patch_size).transpose(1, 2)
        x = self.to_tokens(patches)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], dim=1) + self.pos
        return self.head(self.encoder(x)[:, 0])


def mean_aggregate(features, adjacency):
    A_hat = adjacency.float().fill_diagonal_(1) if adjacency.dtype != torch.float32 else \
        adjacency.clone().fill_diagonal_(1)
    D_hat = A_hat.sum(dim=1)
    return torch.diag(D_hat.pow(-1)) @ (A_hat @ features)


def self_test():
    torch.manual_seed(0)
    ours = MultiHeadAttention(32, 4)
    theirs = nn.MultiheadAttention(32, 4, bias=False, batch_first=True)
    theirs.load_state_dict(ours.state_dict())
    x, m = torch.randn(2, 5, 32), torch.randn(2, 7, 32)
    a, b = ours(x, m, m)[0], theirs(x, m, m)[0]
    assert torch.allclose(a, b, atol=1e-6)
    q, k, v = torch.randn(3, 2, 4, 8)
    assert torch.allclose(scaled_dot_product_attention(q, k, v)[0], F.scaled_dot_product_attention(q, k, v), atol=1e-6)
    assert sum(p.numel() for p in EncoderBlock(32, 4, 64).parameters()) == 8416
    assert sum(p.numel() for p in DecoderBlock(32, 4, 64).parameters()) == 12576
    print("all tests passed")


if __name__ == "__main__":
    sys.exit(self_test())
