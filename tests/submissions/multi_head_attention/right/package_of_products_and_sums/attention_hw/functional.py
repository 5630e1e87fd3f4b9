import torch

NEG = -1e12


def split_heads(x, n_heads):
    b, t, d = x.shape
    d_k = d // n_heads
    index = torch.arange(d, device=x.device).view(n_heads, d_k)
    return x[:, :, index].permute(0, 2, 1, 3)


def merge_heads(x):
    b, h, t, d_k = x.shape
    out = torch.empty(b, t, 0, dtype=x.dtype, device=x.device)
    for head in range(h):
        out = torch.cat((out, x[:, head]), dim=2)
    return out


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.shape[-1]
    # broadcasting instead of a matrix product
    s = torch.sum(query[..., :, None, :] * key[..., None, :, :], dim=-1) / d_k ** 0.5
    if mask is not None:
        m = mask.to(s.dtype)
        s = s * m + NEG * (1 - m)
    w = torch.nn.functional.softmax(s, dim=-1)
    return torch.sum(w[..., None] * value[..., None, :, :], dim=-2), w
