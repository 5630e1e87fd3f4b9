# multi-head attention, lesson 115
import torch
from torch import nn


def split_heads(x, num_heads):
    # 32 features -> 4 heads with 8 features each
    b, t, d = x.size()
    return x.reshape(b, num_heads, t, d // num_heads)


def merge_heads(x):
    b, h, t, d_head = x.size()
    return x.transpose(1, 2).reshape(b, t, h * d_head)


def scaled_dot_product_attention(q, k, v, attn_mask=None):
    scale = q.size(-1) ** -0.5
    attn = torch.matmul(q * scale, k.mT)
    if attn_mask is not None:
        attn = torch.where(attn_mask.bool(), attn, torch.finfo(attn.dtype).min)
    attn = attn.softmax(-1)
    return torch.matmul(attn, v), attn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("embed_dim has to be a multiple of num_heads")
        self.num_heads = num_heads
        self.to_q = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_k = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_v = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_out = nn.Linear(embed_dim, embed_dim)

    def forward(self, q, k, v, attn_mask=None):
        q, k, v = self.to_q(q), self.to_k(k), self.to_v(v)
        q, k, v = (split_heads(t, self.num_heads) for t in (q, k, v))
        out, attn = scaled_dot_product_attention(q, k, v, attn_mask)
        return self.to_out(merge_heads(out)), attn


if __name__ == "__main__":
    mha = MultiHeadAttention(32, 4)
    x = torch.rand(1, 6, 32)
    out, attn = mha(x, x, x)
    assert out.shape == (1, 6, 32)
    assert attn.shape == (1, 4, 6, 6)
    print("all shapes ok!")
