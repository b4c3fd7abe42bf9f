"""Runs a small kernel, a view and a large matrix product, in bfloat16 and in float32."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "fleet_samples" / "programs"))
import common  # noqa: E402

LARGE, SMALL = 8192, 768


def build():
    on_gpu = torch.get_default_device().type == "cuda"
    n = LARGE if on_gpu else SMALL
    a, b = (torch.randn(n, n, dtype=torch.bfloat16 if on_gpu else torch.float32) for _ in range(2))
    c, d = (torch.randn(n // 4, n // 4) for _ in range(2))
    small = torch.zeros(8)

    def step():
        small.add_(1).view(2, 4)
        product = a @ b
        single = torch.addmm(c, c, d)
        return product, single

    return step


if __name__ == "__main__":
    common.run(build, __doc__)
