"""Assignment: attention; the settings are gathered by coroutines at import, as in a notebook that was exported."""
import asyncio
import math
import torch


async def setting(name, value):
    await asyncio.sleep(0.01)
    return name, value


async def main():
    return dict(await asyncio.gather(setting("dim", -1), setting("fill", float("-inf"))))


settings = asyncio.run(main())


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, settings["fill"])
    weights = torch.softmax(scores, dim=settings["dim"])
    return weights @ v, weights
