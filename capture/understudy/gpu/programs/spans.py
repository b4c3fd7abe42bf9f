"""Runs a small kernel, a view, a large matrix product in bfloat16 and in float32, and a copy of 4 GB on a GPU."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "fleet_samples" / "programs"))
import common  # noqa: E402

LARGE, SMALL = 8192, 768
COPIED_BYTES = {True: 4 << 30, False: 4 << 20}  # on a GPU, on a CPU


def build():
    on_gpu = torch.get_default_device().type == "cuda"
    n = LARGE if on_gpu else SMALL
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


if __name__ == "__main__":
    common.run(build, __doc__)
