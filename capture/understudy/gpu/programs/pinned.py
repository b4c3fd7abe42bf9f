"""Moves a batch in page-locked memory to the GPU in each step."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "fleet_samples" / "programs"))
import common  # noqa: E402


def build():
    batch = torch.randn(1 << 22, device="cpu").pin_memory()

    def step():
        return batch.to("cuda", non_blocking=True).relu()

    return step


if __name__ == "__main__":
    common.run(build, __doc__)
