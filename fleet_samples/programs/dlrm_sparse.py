"""A recommendation model with sparse gradients: Adagrad on the tables, SGD elsewhere."""

import torch

import common
import dlrm


def build():
    return dlrm.build(sparse=True, make_optimizers=lambda model: [
        torch.optim.Adagrad(model.tables.parameters(), lr=0.01),
        torch.optim.SGD([*model.bottom.parameters(), *model.top.parameters()], lr=0.01)])


if __name__ == "__main__":
    common.run(build, __doc__)
