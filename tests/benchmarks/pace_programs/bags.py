"""Bags of words: a wide table read by sums over bags, sparse gradients, SparseAdam."""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.append(str(Path(__file__).resolve().parents[3] / "fleet_samples" / "programs"))
import common  # noqa: E402

BATCH, ROWS, WIDTH, WORDS, CLASSES = 512, 100_000, 64, 20, 50


def build():
    table, head = nn.EmbeddingBag(ROWS, WIDTH, mode="sum", sparse=True), nn.Linear(WIDTH, CLASSES)
    optimizers = [torch.optim.SparseAdam(table.parameters(), lr=1e-3), torch.optim.SGD(head.parameters(), lr=0.1)]
    batch = common.cycling(lambda: (torch.randint(0, ROWS, (BATCH * WORDS,)), torch.randint(0, CLASSES, (BATCH,))))
    offsets = torch.arange(0, BATCH * WORDS, WORDS)

    def step():
        words, wanted = batch()
        for optimizer in optimizers:
            optimizer.zero_grad()
        F.cross_entropy(head(table(words, offsets)), wanted).backward()
        for optimizer in optimizers:
            optimizer.step()

    return step


if __name__ == "__main__":
    common.run(build, __doc__)
