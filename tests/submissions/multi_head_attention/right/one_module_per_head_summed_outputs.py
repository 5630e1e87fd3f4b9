# Каждая голова -- отдельный модуль. Выход: сумма вкладов голов (то же, что concat + W_O).
import torch
import torch.nn as nn


def split_heads(x, n_heads):
    return torch.stack(torch.chunk(x, n_heads, dim=2), dim=1)


def merge_heads(x):
    return torch.cat(torch.unbind(x, dim=1), dim=2)


def scaled_dot_product_attention(query, key, value, mask=None):
    d = query.shape[-1]
    logits = torch.einsum('...id,...jd->...ij', query, key).div(d ** 0.5)
    if mask is not None:
        # additive mask: 0 where we may look, a very negative number elsewhere
        logits = logits + (1.0 - mask.to(logits.dtype)) * -1e9
    probs = logits.softmax(dim=-1)
    return torch.einsum('...ij,...jd->...id', probs, value), probs


class Head(nn.Module):
    def __init__(self, d_model, d_head):
        super().__init__()
        self.to_k = nn.Linear(d_model, d_head)
        self.to_v = nn.Linear(d_model, d_head)
        self.to_q = nn.Linear(d_model, d_head)
        self.back = nn.Linear(d_head, d_model, bias=False)

    def forward(self, q, k, v, mask):
        if mask is not None and mask.dim() == 4:
            mask = mask.squeeze(1)          # no head axis inside of a head
        o, w = scaled_dot_product_attention(self.to_q(q), self.to_k(k), self.to_v(v), mask)
        return self.back(o), w


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        d_head, rest = divmod(d_model, n_heads)
        assert rest == 0, "d_model must be divisible by n_heads"
        self.heads = nn.ModuleList(Head(d_model, d_head) for _ in range(n_heads))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, query, key, value, mask=None):
        total, maps = self.bias, []
        for head in self.heads:
            o, w = head(query, key, value, mask)
            total = total + o
            maps.append(w)
        return total, torch.stack(maps, dim=1)


if __name__ == "__main__":
    mha = MultiHeadAttention(32, 4)
    o, w = mha(*[torch.randn(1, 6, 32)] * 3)
    print(o.shape, w.shape)
