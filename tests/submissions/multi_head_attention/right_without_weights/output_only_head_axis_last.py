# returns ONLY the output (no weights), and works with the heads in the third axis
import torch, torch.nn as nn

def split_heads(x, n_heads):
    return torch.einsum('bthd->bhtd', x.reshape(*x.shape[:2], n_heads, -1))

def merge_heads(x):
    return torch.einsum('bhtd->bthd', x).reshape(x.shape[0], x.shape[2], -1)

def scaled_dot_product_attention(query, key, value, mask=None):
    """only the context is returned, see above"""
    s = torch.einsum('...qd,...kd->...qk', query / query.shape[-1]**0.5, key)
    if mask is not None:
        s = s.masked_fill(~mask.bool(), torch.finfo(s.dtype).min)
    return torch.einsum('...qk,...kd->...qd', torch.softmax(s, dim=-1), value)

class MultiHeadAttention(nn.Module):
    def __init__(self, n_embd, n_head, bias: bool = False):
        super().__init__()
        assert n_embd % n_head == 0
        self.n_head = n_head
        self.c_q = nn.Linear(n_embd, n_embd, bias=bias)
        self.c_kv = nn.Linear(n_embd, 2 * n_embd, bias=bias)
        self.c_proj = nn.Linear(n_embd, n_embd, bias=bias)

    def forward(self, query, key, value, mask=None):
        B, Tq, D = query.shape
        Tk, H = key.shape[1], self.n_head
        Wk, Wv = self.c_kv.weight.chunk(2)
        bk, bv = (None, None) if self.c_kv.bias is None else self.c_kv.bias.chunk(2)
        q = self.c_q(query).view(B, Tq, H, -1)
        k = nn.functional.linear(key, Wk, bk).view(B, Tk, H, -1)
        v = nn.functional.linear(value, Wv, bv).view(B, Tk, H, -1)
        s = torch.einsum('bqhd,bkhd->bhqk', q, k) / (D // H)**0.5
        if mask is not None:
            s = s.masked_fill(mask == 0, float('-inf'))
        y = torch.einsum('bhqk,bkhd->bqhd', s.softmax(-1), v)
        return self.c_proj(y.flatten(2))
