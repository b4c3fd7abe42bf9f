"""Two networks against each other (a GAN): transposed convolutions against convolutions, two optimizers a step."""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.append(str(Path(__file__).resolve().parents[3] / "fleet_samples" / "programs"))
import common  # noqa: E402

BATCH, NOISE, WIDTH, PIXELS = 16, 32, 16, 32


def build():
    maker = nn.Sequential(nn.Linear(NOISE, WIDTH * 64), nn.Unflatten(1, (WIDTH, 8, 8)), nn.BatchNorm2d(WIDTH), nn.ReLU(),
                          nn.ConvTranspose2d(WIDTH, WIDTH, 4, 2, 1), nn.BatchNorm2d(WIDTH), nn.ReLU(),
                          nn.ConvTranspose2d(WIDTH, 3, 4, 2, 1), nn.Tanh())
    judge = nn.Sequential(nn.Conv2d(3, WIDTH, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(WIDTH, 2 * WIDTH, 4, 2, 1), nn.LeakyReLU(0.2),
                          nn.Flatten(), nn.Linear(2 * WIDTH * 64, 1))
    optimizers = [torch.optim.Adam(model.parameters(), lr=2e-4, betas=(0.5, 0.999)) for model in (maker, judge)]
    batch = common.cycling(lambda: torch.randn(BATCH, 3, PIXELS, PIXELS))

    def step():
        made = maker(torch.randn(BATCH, NOISE))
        optimizers[1].zero_grad()
        (F.softplus(-judge(batch())) + F.softplus(judge(made.detach()))).mean().backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        F.softplus(-judge(made)).mean().backward()
        optimizers[0].step()

    return step


if __name__ == "__main__":
    common.run(build, __doc__)
