"""DLRM with 26 tables, as for Criteo's clicks: trained with sparse gradients, Adagrad on the tables, SGD elsewhere."""

import torch

import shared
import dlrm  # of fleet_samples

CUDA = {"BATCH": 16384, "TABLES": 26, "ROWS": 200000, "WIDTH": 128, "DENSE": 13, "MOST_PER_BAG": 20}
CPU = {"BATCH": 512, "TABLES": 8, "ROWS": 10000, "WIDTH": 32}


def build():
    vars(dlrm).update(CUDA if shared.on_gpu() else CPU)
    return dlrm.build(sparse=True, make_optimizers=lambda model: [
        torch.optim.Adagrad(model.tables.parameters(), lr=0.01),
        torch.optim.SGD([*model.bottom.parameters(), *model.top.parameters()], lr=0.01)])


if __name__ == "__main__":
    shared.common.run(build, __doc__)
