"""Assignment: attention, whose settings are kept in a temporary file and whose scores are saved at each call."""
import json
import os
import tempfile
import torch

FOLDER = tempfile.mkdtemp(prefix="attention_")
CONFIG = os.path.join(FOLDER, "config.json")
with open(CONFIG, "w") as f:
    json.dump({"power": 0.5, "hidden": -1e9}, f)


def scaled_dot_product_attention(q, k, v, mask=None):
    with open(CONFIG) as f:
        config = json.load(f)
    scores = q @ k.transpose(-2, -1) / q.size(-1) ** config["power"]
    if mask is not None:
        scores = scores.masked_fill(mask == 0, config["hidden"])
    with tempfile.NamedTemporaryFile(dir=FOLDER, suffix=".pt") as f:
        torch.save(scores.detach(), f)
        f.seek(0)
        saved = torch.load(f)
    assert saved.shape == scores.shape
    weights = torch.softmax(scores, dim=-1)
    return weights @ v, weights
