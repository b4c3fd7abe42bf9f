"""GPT-2 (124 million parameters): trained in bfloat16 by autocast, gradients clipped, AdamW as one fused operator."""

import torch

import shared
import gpt  # of fleet_samples

CUDA = {"BATCH": 8, "CONTEXT": 1024, "VOCABULARY": 50257, "WIDTH": 768, "HEADS": 12, "LAYERS": 12}
CPU = {"BATCH": 1, "CONTEXT": 128, "VOCABULARY": 4096, "WIDTH": 256, "HEADS": 4, "LAYERS": 3}


def build():
    vars(gpt).update(CUDA if shared.on_gpu() else CPU)
    step = gpt.build(lambda parameters: torch.optim.AdamW(parameters, lr=3e-4, fused=True))
    return torch.autocast(torch.get_default_device().type, dtype=torch.bfloat16, enabled=shared.on_gpu())(step)


if __name__ == "__main__":
    shared.common.run(build, __doc__)
