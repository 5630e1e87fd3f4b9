"""Assignment: attention, which logs each call to attention.log."""
import logging
import math
import torch

logging.basicConfig(filename="attention.log", level=logging.DEBUG, force=True,
                    format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("attention")
log.info("imported with torch %s", torch.__version__)


def scaled_dot_product_attention(q, k, v, mask=None):
    log.debug("q %s k %s v %s", tuple(q.shape), tuple(k.shape), tuple(v.shape))
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    log.debug("weights sum to %s", weights.sum(-1).mean().item())
    return weights @ v, weights
