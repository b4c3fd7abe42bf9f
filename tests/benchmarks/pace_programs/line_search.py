"""A wide auto-encoder fitted by L-BFGS: several passes a step, memory of old gradients."""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.append(str(Path(__file__).resolve().parents[3] / "fleet_samples" / "programs"))
import common  # noqa: E402

BATCH, INPUTS, WIDTH = 256, 512, 256


def build():
    model = nn.Sequential(nn.Linear(INPUTS, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 32), nn.Tanh(), nn.Linear(32, WIDTH), nn.Tanh(),
                          nn.Linear(WIDTH, INPUTS))
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3, history_size=5)
    batch = common.cycling(lambda: torch.randn(BATCH, INPUTS), count=1)

    def passed():
        optimizer.zero_grad()
        loss = F.mse_loss(model(batch()), batch())
        loss.backward()
        return loss

    return lambda: optimizer.step(passed)


if __name__ == "__main__":
    common.run(build, __doc__)
