# Οι τύποι της εργασίας, με τα ίδια γράμματα (softmax(QKᵀ/√d)·V)
import torch
import torch.nn as nn

ἄπειρο = float("inf")


def split_heads(x, n_heads):
    β, τ, δ = x.shape
    return x.reshape(β, τ, n_heads, δ // n_heads).transpose(1, 2)


def merge_heads(x):
    β, η, τ, δ = x.shape
    return x.transpose(1, 2).reshape(β, τ, η * δ)


def scaled_dot_product_attention(query, key, value, mask=None):
    λ = 1 / query.shape[-1] ** 0.5
    σκορ = λ * (query @ key.transpose(-2, -1))
    if mask is not None:
        σκορ = σκορ.masked_fill(mask == 0, -ἄπειρο)
    α = σκορ.softmax(dim=-1)
    return α @ value, α


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("το d_model δεν διαιρείται")
        self.η = n_heads
        self.ω_q = nn.Linear(d_model, d_model, bias=False)
        self.ω_k = nn.Linear(d_model, d_model, bias=False)
        self.ω_v = nn.Linear(d_model, d_model, bias=False)
        self.größe_out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q, k, v = (split_heads(ω(x), self.η) for ω, x in
                   ((self.ω_q, query), (self.ω_k, key), (self.ω_v, value)))
        ψ, α = scaled_dot_product_attention(q, k, v, mask)
        return self.größe_out(merge_heads(ψ)), α
