"""Embedding bags whose rows are all met equally often."""

import torch

import common
import embedding


def build():
    return embedding.build(lambda count: torch.randint(0, embedding.ROWS, (count,)))


if __name__ == "__main__":
    common.run(build, __doc__)
