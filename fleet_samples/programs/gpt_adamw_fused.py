"""A small GPT, AdamW as one operator over all tensors (fused)."""

import torch

import common
import gpt


def build():
    return gpt.build(lambda parameters: torch.optim.AdamW(parameters, lr=3e-4, fused=True))


if __name__ == "__main__":
    common.run(build, __doc__)
