"""Thousands of operators of a few elements: a physical system integrated by Runge and Kutta, its parameters fitted."""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.append(str(Path(__file__).resolve().parents[3] / "fleet_samples" / "programs"))
import common  # noqa: E402

STEPS, BODIES = 40, 12


def build():
    strength = nn.Parameter(torch.tensor([1.0, 0.1]))
    optimizer = torch.optim.Rprop([strength], lr=1e-3)
    batch = common.cycling(lambda: (torch.randn(2, BODIES), torch.randn(2, BODIES)))

    def change(state):
        force = -strength[0] * state[0] - strength[1] * state[1] * state[1].abs()
        return torch.stack([state[1], force])

    def loss(state, wanted):
        for _ in range(STEPS):
            first = change(state)
            second = change(state + 0.05 * first)
            third = change(state + 0.05 * second)
            state = state + 0.1 / 6 * (first + 2 * second + 2 * third + change(state + 0.1 * third))
        return F.mse_loss(state, wanted)

    return common.training(optimizer, batch, loss)


if __name__ == "__main__":
    common.run(build, __doc__)
