"""Many narrow layers whose optimizer takes most of the step: Adam parameter by parameter, an average of the weights."""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.append(str(Path(__file__).resolve().parents[3] / "fleet_samples" / "programs"))
import common  # noqa: E402

BATCH, WIDTH, LAYERS = 32, 96, 40


def build():
    layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.Tanh()) for _ in range(LAYERS)]
    model = nn.Sequential(*layers, nn.Linear(WIDTH, 1))
    optimizer = torch.optim.NAdam(model.parameters(), lr=1e-4, foreach=False)
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99))
    batch = common.cycling(lambda: (torch.randn(BATCH, WIDTH), torch.randn(BATCH, 1)))
    train = common.training(optimizer, batch, lambda x, wanted: F.huber_loss(model(x), wanted))

    def step():
        train()
        average.update_parameters(model)

    return step


if __name__ == "__main__":
    common.run(build, __doc__)
