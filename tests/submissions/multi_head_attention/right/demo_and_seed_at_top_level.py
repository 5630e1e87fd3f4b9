import torch
import torch.nn as nn

torch.manual_seed(42)
torch.set_printoptions(precision=4, sci_mode=False)
device = "cuda" if torch.cuda.is_available() else "cpu"
print("running on", device)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ value, weights


# the lesson's trace
Q, K, V = torch.randn(4, 8), torch.randn(4, 8), torch.randn(4, 8)
out, w = scaled_dot_product_attention(Q, K, V)
print(w[0])
print(out[0])


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


x = torch.arange(24.).view(1, 3, 8)
print(split_heads(x, 2).shape, torch.equal(merge_heads(split_heads(x, 2)), x))


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model must be divisible by n_heads")
        self.n_heads = n_heads
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.W_q(query), self.n_heads)
        k = split_heads(self.W_k(key), self.n_heads)
        v = split_heads(self.W_v(value), self.n_heads)
        y, w = scaled_dot_product_attention(q, k, v, mask)
        return self.W_o(merge_heads(y)), w


mha = MultiHeadAttention(32, 4).to(device)
x = torch.randn(1, 6, 32, device=device)
y, w = mha(x, x, x, torch.tril(torch.ones(6, 6, device=device)))
print(y.shape, w.shape)
print(sum(p.numel() for p in mha.parameters()), "parameters")
try:
    MultiHeadAttention(30, 4)
except ValueError as e:
    print("as expected:", e)
