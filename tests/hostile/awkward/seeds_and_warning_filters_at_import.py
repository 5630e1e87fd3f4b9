"""Assignment: attention, with everything seeded and warnings silenced."""
import math
import os
import random
import warnings
import torch

SEED = int(os.environ.get("SEED", "42"))
random.seed(SEED)
torch.manual_seed(SEED)
os.environ["PYTHONHASHSEED"] = str(SEED)
torch.backends.cudnn.deterministic = True
warnings.filterwarnings("ignore")
warnings.simplefilter("ignore", category=DeprecationWarning)


def scaled_dot_product_attention(q, k, v, mask=None):
    torch.manual_seed(SEED)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ v, weights
