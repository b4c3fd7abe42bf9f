"""Runs in each step what UNDERSTUDY_STEP names of STEPS."""

import os
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "fleet_samples" / "programs"))
import common  # noqa: E402

SIDE, SMALL_SIDE = 8192, 768  # of a product, on a GPU and on a CPU
COPIED_BYTES = {True: 4 << 30, False: 4 << 20}  # on a GPU, on a CPU
N, GROUPS = 512, 4


def spans():
    """A small kernel, a view, a large product in bfloat16 and in float32, and a copy."""
    on_gpu = torch.get_default_device().type == "cuda"
    n = SIDE if on_gpu else SMALL_SIDE
    a, b = (torch.randn(n, n, dtype=torch.bfloat16 if on_gpu else torch.float32) for _ in range(2))
    c, d = (torch.randn(n // 4, n // 4) for _ in range(2))
    small = torch.zeros(8)
    # Of two types, so that a kernel copies: Nsight Compute sees no others.
    source, target = (torch.zeros(COPIED_BYTES[on_gpu], dtype=dtype) for dtype in (torch.uint8, torch.int8))

    def step():
        small.add_(1).view(2, 4)
        product = a @ b
        single = torch.addmm(c, c, d)
        target.copy_(source)
        return product, single
    return step


def pinned():
    batch = torch.randn(1 << 22, device="cpu").pin_memory()
    return lambda: batch.to("cuda", non_blocking=True).relu()


def grouped_mm():
    rows = torch.randn(N, N, dtype=torch.bfloat16)
    weights = torch.randn(GROUPS, N, N, dtype=torch.bfloat16)
    ends = torch.arange(1, GROUPS + 1, dtype=torch.int32) * (N // GROUPS)
    return lambda: torch._grouped_mm(rows, weights, offs=ends)


def scaled_mm():
    n = N if torch.get_default_device().type == "cuda" else 64  # some CPUs take seconds for N
    a, b = (torch.randn(n, n).to(torch.float8_e4m3fn) for _ in range(2))
    scale = torch.ones(())
    return lambda: torch._scaled_mm(a, b.t(), scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16)


def cudnn_attention():
    q, k, v = (torch.randn(2, 8, N, 64, dtype=torch.bfloat16) for _ in range(3))

    def step():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return step


STEPS = {build.__name__: build for build in (spans, pinned, grouped_mm, scaled_mm, cudnn_attention)}


if __name__ == "__main__":
    common.run(STEPS[os.environ["UNDERSTUDY_STEP"]], __doc__)
