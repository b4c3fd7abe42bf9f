"""A recommendation model whose tables have dense gradients, Adagrad over everything."""

import torch

import common
import dlrm


def build():
    return dlrm.build(sparse=False, make_optimizers=lambda model: [
        torch.optim.Adagrad(model.parameters(), lr=0.01)])


if __name__ == "__main__":
    common.run(build, __doc__)
