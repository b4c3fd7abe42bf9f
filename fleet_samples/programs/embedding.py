"""Embedding bags over tables far larger than any cache: most of the step is fetching their rows."""

import torch
import torch.nn.functional as F
from torch import nn

import common

BATCH, BAG, TABLES, ROWS, WIDTH = 4096, 40, 4, 1_000_000, 32


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(ROWS, WIDTH, mode="sum", sparse=True)
                                    for _ in range(TABLES))
        self.head = nn.Linear(TABLES * WIDTH, 1)

    def forward(self, bags):
        rows = [table(index) for table, index in zip(self.tables, bags)]
        return self.head(torch.cat(rows, dim=1)).squeeze(1)


def build(draw):
    """draw(count) gives `count` row numbers below ROWS."""
    model = Tower()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch = common.cycling(lambda: ([draw(BATCH * BAG).view(BATCH, BAG) for _ in range(TABLES)],
                                    torch.randint(0, 2, (BATCH,)).float()), count=4)
    return common.training(optimizer, batch, lambda bags, clicked: F.binary_cross_entropy_with_logits(
        model(bags), clicked))
