"""PixelBERT and its digits."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from torch.nn import functional as F

from reference import PixelBERT, load_digits, patches
from reference.digits import FILE
from tests.reference.copying import count, pytorch_encoder_layer, randomise


@settings(deadline=None, derandomize=True, max_examples=40)
@given(batch=st.integers(1, 3), down=st.integers(1, 4), across=st.integers(1, 4),
       p=st.integers(1, 4))  # fmt: skip
def test_patches_equal_explicit_loops(batch, down, across, p):
    images = torch.randn(batch, down * p, across * p)
    got = patches(images, p)
    assert got.shape == (batch, down * across, p * p)
    for b in range(batch):
        for row in range(down * p):
            for column in range(across * p):
                patch = (row // p) * across + column // p
                pixel = (row % p) * p + column % p
                assert got[b, patch, pixel] == images[b, row, column]


def test_the_patch_size_must_divide_the_image():
    with pytest.raises(ValueError, match="patch_size=3 does not divide 8 x 9 pixels"):
        patches(torch.zeros(1, 8, 9), 3)
    with pytest.raises(ValueError, match="patch_size=3 does not divide 8"):
        PixelBERT(patch_size=3)


@pytest.mark.parametrize("patch_size", [1, 2, 4, 8])
def test_logits_equal_those_of_pytorchs_own_layer(patch_size):
    torch.manual_seed(0)
    model = PixelBERT(n_classes=7, patch_size=patch_size, d_model=8, n_heads=2, d_ff=12)
    randomise(model)
    images = torch.rand(3, 8, 8)
    unfolded = F.unfold(images[:, None], patch_size, stride=patch_size).transpose(1, 2)
    tokens = F.linear(unfolded, model.projection.weight, model.projection.bias)
    x = torch.cat([model.cls.expand(3, 1, 8), tokens], dim=1) + model.positions
    x = pytorch_encoder_layer(model.block)(x)
    expected = F.linear(x[:, 0], model.head.weight, model.head.bias)
    torch.testing.assert_close(model(images), expected, rtol=1e-3, atol=1e-4)


def test_the_parameters_are_those_of_the_parts():
    assert count(PixelBERT()) == (4 * 32 + 32) + 32 + 17 * 32 + 8_416 + (32 * 10 + 10)


@pytest.mark.parametrize("seed", range(5))
def test_training_starts_near_ln_10_and_is_lower_after_five_steps(seed):
    torch.manual_seed(seed)
    model = PixelBERT()
    images, labels = load_digits()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(6):
        loss = F.cross_entropy(model(images), labels)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert losses[0] == pytest.approx(math.log(10), abs=0.3)
    assert losses[5] < losses[0]


def test_the_digits_are_eight_of_each_class_in_0_to_1():
    images, labels = load_digits()
    assert images.shape == (80, 8, 8)
    assert images.dtype == torch.float32
    assert labels.dtype == torch.int64
    assert labels.bincount().tolist() == [8] * 10
    assert images.min() == 0
    assert images.max() == 1
    assert torch.equal((16 * images).round(), 16 * images)


def test_the_first_digits_are_those_of_the_original_file():
    images, labels = load_digits()
    assert labels[:10].tolist() == list(range(10))
    assert (16 * images[0, :2]).tolist() == [
        [0, 0, 5, 13, 9, 1, 0, 0],
        [0, 0, 13, 15, 10, 15, 5, 0],
    ]


def test_the_file_names_its_origin_and_licence():
    with safe_open(FILE, framework="pt") as file:
        metadata = file.metadata()
    assert "Alpaydin" in metadata["origin"]
    assert "CC BY 4.0" in metadata["licence"]
    assert FILE.stat().st_size < 10_000
