"""A multi-layer perceptron for classification, SGD with momentum."""

import torch
import torch.nn.functional as F
from torch import nn

import common

BATCH, INPUTS, WIDTH, CLASSES = 128, 784, 2048, 10


def build():
    model = nn.Sequential(nn.Linear(INPUTS, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(),
                          nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    batch = common.cycling(lambda: (torch.randn(BATCH, INPUTS),
                                    torch.randint(0, CLASSES, (BATCH,))))

    return common.training(optimizer, batch, lambda x, target: F.cross_entropy(model(x), target))


if __name__ == "__main__":
    common.run(build, __doc__)
