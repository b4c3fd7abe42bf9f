"""Trains the samples' GPT with 1.1 billion parameters in bfloat16 with fused AdamW; on a CPU a
small one in float32."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "fleet_samples" / "programs"))
import common  # noqa: E402
import gpt  # noqa: E402

SMALL = {"BATCH": 2, "CONTEXT": 64, "VOCABULARY": 512, "WIDTH": 64, "HEADS": 4, "LAYERS": 2}
LARGE = {"BATCH": 4, "CONTEXT": 1024, "VOCABULARY": 32768, "WIDTH": 2048, "HEADS": 16, "LAYERS": 20}


def build():
    on_gpu = torch.get_default_device().type == "cuda"
    vars(gpt).update(LARGE if on_gpu else SMALL)
    if on_gpu:
        torch.set_default_dtype(torch.bfloat16)
    return gpt.build(lambda parameters: torch.optim.AdamW(parameters, lr=3e-4, fused=True))


if __name__ == "__main__":
    common.run(build, __doc__)
