import torch
import torch.nn as nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.view(B, T, n_heads, D // n_heads).transpose(1, 2)


data = torch.load("attention_weights_from_class.pt")
print(split_heads(data, 4).shape)
