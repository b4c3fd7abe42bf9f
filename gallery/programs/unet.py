"""A UNet of three levels: trained in bfloat16 by autocast, fused AdamW."""

import torch
import torch.nn.functional as F
from torch import nn

import shared

CUDA = {"batch": 16, "pixels": 256, "width": 64}
CPU = {"batch": 1, "pixels": 32, "width": 16}


class Unet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 2 * width, 3, padding=1, stride=2),
                                   nn.Conv2d(2 * width, 4 * width, 3, padding=1, stride=2)])
        self.norm = nn.ModuleList(nn.GroupNorm(8, width << level) for level in range(3))
        self.up = nn.ModuleList([nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2), nn.ConvTranspose2d(4 * width, width, 2, stride=2)])
        self.out = nn.Conv2d(2 * width, 3, 1)

    def forward(self, x):
        levels = []
        for down, norm in zip(self.down, self.norm):
            x = F.silu(norm(down(x)))
            levels.append(x)
        for up, level in zip(self.up, reversed(levels[:-1])):
            x = torch.cat([up(x), level], 1)
        return self.out(x)


def build():
    of = shared.sizes(CUDA, CPU)
    model = Unet(of.width)
    return shared.train(model, lambda: (torch.randn(of.batch, 3, of.pixels, of.pixels),), lambda images: F.mse_loss(model(images), images))


if __name__ == "__main__":
    shared.common.run(build, __doc__)
