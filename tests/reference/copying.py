"""Random weights for the reference, and the same weights in PyTorch's own layers."""

import torch
from torch import Tensor, nn

from reference import DecoderBlock, EncoderBlock, MultiHeadAttention


def randomise(module: nn.Module) -> None:
    """Draw every parameter, for the norms' ones and zeros would hide mistakes."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.5)


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    """Copy the weights; biases that the reference does without are zero in PyTorch's layer."""
    inputs = [ours.w_q, ours.w_k, ours.w_v]
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([linear.weight for linear in inputs]))
        theirs.in_proj_bias.copy_(torch.cat([bias_of(linear) for linear in inputs]))
        theirs.out_proj.weight.copy_(ours.w_o.weight)
        theirs.out_proj.bias.copy_(bias_of(ours.w_o))


def bias_of(linear: nn.Linear) -> Tensor:
    return torch.zeros(linear.out_features) if linear.bias is None else linear.bias


def pytorch_encoder_layer(ours: EncoderBlock) -> nn.TransformerEncoderLayer:
    """PyTorch's layer in eval mode with the weights of this block."""
    d_ff, d_model = ours.linear1.weight.shape
    theirs = nn.TransformerEncoderLayer(
        d_model, ours.attention.n_heads, d_ff, activation="relu", batch_first=True, norm_first=False
    )
    copy_attention(ours.attention, theirs.self_attn)
    for name in ("linear1", "linear2", "norm1", "norm2"):
        getattr(theirs, name).load_state_dict(getattr(ours, name).state_dict())
    return theirs.eval()


def pytorch_decoder_layer(ours: DecoderBlock) -> nn.TransformerDecoderLayer:
    """PyTorch's layer in eval mode with the weights of this block."""
    d_ff, d_model = ours.linear1.weight.shape
    theirs = nn.TransformerDecoderLayer(
        d_model,
        ours.self_attention.n_heads,
        d_ff,
        activation="relu",
        batch_first=True,
        norm_first=False,
    )
    copy_attention(ours.self_attention, theirs.self_attn)
    copy_attention(ours.cross_attention, theirs.multihead_attn)
    for name in ("linear1", "linear2", "norm1", "norm2", "norm3"):
        getattr(theirs, name).load_state_dict(getattr(ours, name).state_dict())
    return theirs.eval()


def pytorch_encoder(blocks: nn.ModuleList) -> nn.TransformerEncoder:
    """PyTorch's stack in eval mode with the weights of these blocks."""
    layers = [pytorch_encoder_layer(block) for block in blocks]
    theirs = nn.TransformerEncoder(layers[0], len(layers), enable_nested_tensor=False)
    theirs.layers = nn.ModuleList(layers)
    return theirs.eval()


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def random_padding(batch: int, length: int) -> Tensor:
    """bool (B, T), True = ignore; a token at least is left in every row."""
    ignore = torch.rand(batch, length) < 0.5
    ignore[torch.arange(batch), torch.randint(length, (batch,))] = False
    return ignore
