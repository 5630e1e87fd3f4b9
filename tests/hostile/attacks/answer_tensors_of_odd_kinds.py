"""Answers in turn meta, sparse, complex, float16, quantized, nested, conjugated, bool and string-like tensors."""
import torch

calls = [0]


def attack(q, k, v, mask):
    calls[0] += 1
    w = torch.softmax(q @ k.transpose(-2, -1), -1).detach()
    o = (w @ v).detach()
    kinds = (
        lambda x: x.to("meta"),
        lambda x: x.to_sparse(),
        lambda x: torch.complex(x, x * 0 + 1),
        lambda x: torch.complex(x, x).conj(),
        lambda x: x.half(),
        lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
        lambda x: torch.nested.nested_tensor(list(x.reshape(2, -1))),
        lambda x: x > 0.1,
        lambda x: torch._neg_view(x),
        lambda x: x.to_sparse_csr() if x.dim() == 2 else x.to(torch.float8_e4m3fn),
        lambda x: torch.nn.parameter.UninitializedParameter(),
        lambda x: torch._C._functorch._add_batch_dim(x, 0, 1),
    )
    f = kinds[calls[0] % len(kinds)]
    return f(o), f(w)
