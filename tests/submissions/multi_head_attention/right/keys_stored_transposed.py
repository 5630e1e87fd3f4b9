"""Keys are projected straight into (B, H, d_k, T_k): no transpose in the score product."""
import torch
import torch.nn as nn


class UnevenHeads(ValueError):
    pass


def split_heads(x, n_heads):
    B, T, D = x.shape
    return torch.as_strided(x.contiguous(), (B, n_heads, T, D // n_heads), (T * D, D // n_heads, D, 1),
                            x.contiguous().storage_offset())


def merge_heads(x):
    B, H, T, d = x.shape
    return torch.stack([x[:, :, t].reshape(B, H * d) for t in range(T)], dim=1)


def _core(q, k_t, v, mask):
    s = torch.matmul(q, k_t) / torch.sqrt(torch.tensor(q.shape[-1], dtype=q.dtype))
    if mask is not None:
        penalty = (mask == 0).to(s.dtype) * -1e5
        s = torch.add(s, penalty)
    w = torch.exp(torch.log_softmax(s, dim=-1))
    return torch.matmul(w, v), w


def scaled_dot_product_attention(query, key, value, mask=None):
    return _core(query, key.transpose(-1, -2), value, mask)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise UnevenHeads(f"{d_model} by {n_heads}")
        self.d_k = d_model // n_heads
        make = lambda *shape: nn.Parameter(nn.init.trunc_normal_(torch.empty(*shape), std=0.2))
        self.M_q = make(d_model, n_heads, self.d_k)
        self.M_k = make(n_heads, self.d_k, d_model)
        self.M_v = make(d_model, n_heads, self.d_k)
        self.M_o = make(d_model, n_heads, self.d_k)

    def forward(self, query, key, value, mask=None):
        q = torch.tensordot(query, self.M_q, dims=1).transpose(1, 2)
        k_t = self.M_k @ key.transpose(1, 2).unsqueeze(1)                 # (B, H, d_k, T_k)
        v = torch.tensordot(value, self.M_v, dims=1).transpose(1, 2)
        y, w = _core(q, k_t, v, mask)
        return torch.tensordot(y.transpose(1, 2), self.M_o, dims=([2, 3], [1, 2])), w
