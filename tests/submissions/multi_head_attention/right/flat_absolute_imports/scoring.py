import torch


class Scorer:
    KINDS = {"scaled_dot": lambda q, k: q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5}

    def __init__(self, kind):
        self.score = self.KINDS[kind]

    def __call__(self, query, key, value, mask=None):
        s = self.score(query, key)
        if mask is not None:
            s = torch.where(mask.to(torch.bool), s, s.new_tensor(float("-inf")))
        a = torch.softmax(s, dim=-1)
        return a @ value, a
