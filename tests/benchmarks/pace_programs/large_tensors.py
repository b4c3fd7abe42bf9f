"""Few operators on tensors of tens of megabytes, made anew in each step: page faults decide."""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.append(str(Path(__file__).resolve().parents[3] / "fleet_samples" / "programs"))
import common  # noqa: E402

ROWS, COLUMNS = 2048, 2048


def build():
    weight = nn.Parameter(torch.randn(ROWS, COLUMNS) * 0.01)
    scale = nn.Parameter(torch.ones(COLUMNS))
    batch = common.cycling(lambda: (torch.randn(ROWS, COLUMNS),), count=2)
    return common.training(torch.optim.SGD([weight, scale], lr=1e-3), batch,
                           lambda x: (F.gelu(x * weight) * scale).softmax(-1).square().mean())


if __name__ == "__main__":
    common.run(build, __doc__)
