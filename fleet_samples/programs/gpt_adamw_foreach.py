"""A small GPT, AdamW over lists of tensors (foreach)."""

import torch

import common
import gpt


def build():
    return gpt.build(lambda parameters: torch.optim.AdamW(parameters, lr=3e-4, foreach=True))


if __name__ == "__main__":
    common.run(build, __doc__)
