"""A recommendation model: embedding bags, a bottom and a top perceptron, pairwise interactions."""

import torch
import torch.nn.functional as F
from torch import nn

import common

BATCH, TABLES, ROWS, WIDTH, DENSE, MOST_PER_BAG = 2048, 8, 40000, 32, 13, 10


class Dlrm(nn.Module):
    def __init__(self, sparse):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(ROWS, WIDTH, mode="sum", sparse=sparse)
                                    for _ in range(TABLES))
        self.bottom = nn.Sequential(nn.Linear(DENSE, 256), nn.ReLU(), nn.Linear(256, WIDTH),
                                    nn.ReLU())
        pairs = TABLES * (TABLES + 1) // 2
        self.top = nn.Sequential(nn.Linear(WIDTH + pairs, 512), nn.ReLU(), nn.Linear(512, 256),
                                 nn.ReLU(), nn.Linear(256, 1))
        self.register_buffer("pairs", torch.tril_indices(TABLES + 1, TABLES + 1, offset=-1))

    def forward(self, dense, bags):
        bottom = self.bottom(dense)
        rows = [table(index, offsets) for table, (index, offsets) in zip(self.tables, bags)]
        features = torch.stack([bottom, *rows], dim=1)
        products = torch.bmm(features, features.transpose(1, 2))
        interactions = products[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([bottom, interactions], dim=1)).squeeze(1)


def make_bag():
    lengths = torch.randint(1, MOST_PER_BAG + 1, (BATCH,))
    offsets = torch.cumsum(lengths, 0) - lengths
    # Popular rows are met more often: the square of a uniform draw leans towards row 0.
    index = (torch.rand(int(lengths.sum())).square() * ROWS).long()
    return index, offsets


def build(sparse, make_optimizers):
    model = Dlrm(sparse)
    optimizers = make_optimizers(model)
    batch = common.cycling(lambda: (torch.randn(BATCH, DENSE), [make_bag() for _ in range(TABLES)],
                                    torch.randint(0, 2, (BATCH,)).float()))

    def step():
        dense, bags, clicked = batch()
        for optimizer in optimizers:
            optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(model(dense, bags), clicked).backward()
        for optimizer in optimizers:
            optimizer.step()

    return step
