"""Gaussian-process regression in double precision: a kernel matrix, its Cholesky factor, Adam."""

import math

import torch
from torch import nn

import common

POINTS, INPUTS, PROBES = 640, 24, 64


class Process(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_length = nn.Parameter(torch.zeros(INPUTS, dtype=torch.float64))
        self.log_scale = nn.Parameter(torch.zeros((), dtype=torch.float64))
        self.log_noise = nn.Parameter(torch.full((), -1.0, dtype=torch.float64))
        self.warp = nn.Sequential(nn.Linear(INPUTS, 128), nn.Softplus(),
                                  nn.Linear(128, INPUTS)).double()

    def kernel(self, a, b):
        length = self.log_length.exp()
        distance = torch.cdist(self.warp(a) / length, self.warp(b) / length)
        scaled = math.sqrt(5) * distance
        return self.log_scale.exp() * (1 + scaled + scaled.square() / 3) * torch.exp(-scaled)

    def forward(self, x, y, probes):
        noise = self.log_noise.exp() + 1e-4
        factor = torch.linalg.cholesky(self.kernel(x, x) + noise * torch.eye(POINTS).double())
        weights = torch.cholesky_solve(y, factor)
        evidence = (0.5 * (y * weights).sum() + factor.diagonal().log().sum()
                    + 0.5 * POINTS * math.log(2 * math.pi))
        across = self.kernel(probes, x)
        left = torch.linalg.solve_triangular(factor, across.T, upper=False)
        spread = (self.log_scale.exp() - left.square().sum(dim=0)).clamp_min(1e-6)
        return evidence / POINTS + spread.log().mean() + (across @ weights).square().mean()


def build():
    model = Process()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def make_batch():
        x = torch.randn(POINTS, INPUTS, dtype=torch.float64)
        y = x[:, :4].sum(dim=1, keepdim=True).sin() + 0.1 * torch.randn(POINTS, 1).double()
        return x, y, torch.randn(PROBES, INPUTS, dtype=torch.float64)

    return common.training(optimizer, common.cycling(make_batch), model)


if __name__ == "__main__":
    common.run(build, __doc__)
