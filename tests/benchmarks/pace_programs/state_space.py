"""A state-space layer (Mamba) whose scan is a loop in Python: hundreds of small operators on slices of large tensors."""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.append(str(Path(__file__).resolve().parents[3] / "fleet_samples" / "programs"))
import common  # noqa: E402

BATCH, LENGTH, WIDTH, STATES = 2, 64, 64, 16


class Scan(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(WIDTH, 2 * WIDTH)
        self.parts = nn.Linear(WIDTH, WIDTH + 2 * STATES)
        self.decay = nn.Parameter(torch.rand(WIDTH, STATES))
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        value, gate = self.inner(x).chunk(2, -1)
        step, write, read = self.parts(value).split([WIDTH, STATES, STATES], -1)
        step = F.softplus(step)
        keep = torch.exp(-step[..., None] * self.decay.exp())
        added = (step * value)[..., None] * write[:, :, None]
        state, states = torch.zeros_like(keep[:, 0]), []
        for place in range(LENGTH):
            state = keep[:, place] * state + added[:, place]
            states.append((state * read[:, place, None]).sum(-1))
        return x + self.out(torch.stack(states, 1) * F.silu(gate))


def build():
    model = nn.Sequential(*[Scan() for _ in range(2)])
    batch = common.cycling(lambda: (torch.randn(BATCH, LENGTH, WIDTH), torch.randn(BATCH, LENGTH, WIDTH)))
    return common.training(torch.optim.AdamW(model.parameters(), lr=1e-3), batch, lambda x, wanted: F.mse_loss(model(x), wanted))


if __name__ == "__main__":
    common.run(build, __doc__)
