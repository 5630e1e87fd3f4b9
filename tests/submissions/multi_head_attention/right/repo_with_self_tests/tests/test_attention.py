import sys
from pathlib import Path

import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).parent.parent))
from multi_head_attention import scaled_dot_product_attention  # noqa: E402


def test_mask():
    q, k, v = torch.randn(2, 4, 8), torch.randn(2, 5, 8), torch.randn(2, 5, 8)
    m = torch.ones(4, 5).tril().bool()
    torch.testing.assert_close(scaled_dot_product_attention(q, k, v, m)[0],
                               F.scaled_dot_product_attention(q, k, v, attn_mask=m))
