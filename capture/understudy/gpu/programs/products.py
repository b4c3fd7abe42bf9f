"""Runs in each step the operator of PRODUCTS that UNDERSTUDY_PRODUCT names."""

import os
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "fleet_samples" / "programs"))
import common  # noqa: E402

N, GROUPS = 512, 4


def grouped_mm():
    rows = torch.randn(N, N, dtype=torch.bfloat16)
    weights = torch.randn(GROUPS, N, N, dtype=torch.bfloat16)
    ends = torch.arange(1, GROUPS + 1, dtype=torch.int32) * (N // GROUPS)
    return lambda: torch._grouped_mm(rows, weights, offs=ends)


def scaled_mm():
    a, b = (torch.randn(N, N).to(torch.float8_e4m3fn) for _ in range(2))
    scale = torch.ones(())
    return lambda: torch._scaled_mm(a, b.t(), scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16)


def cudnn_attention():
    q, k, v = (torch.randn(2, 8, N, 64, dtype=torch.bfloat16) for _ in range(3))

    def step():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    return step


PRODUCTS = {"_grouped_mm": grouped_mm, "_scaled_mm": scaled_mm, "cudnn_attention": cudnn_attention}


if __name__ == "__main__":
    common.run(PRODUCTS[os.environ["UNDERSTUDY_PRODUCT"]], __doc__)
