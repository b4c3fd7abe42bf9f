"""ConvNeXt-T: trained in bfloat16 by autocast, channels last, fused AdamW."""

import torch
import torch.nn.functional as F
from torch import nn

import shared

CUDA = {"batch": 64, "pixels": 224, "widths": (96, 192, 384, 768), "blocks": (3, 3, 9, 3)}
CPU = {"batch": 1, "pixels": 64, "widths": (16, 32, 64, 128), "blocks": (1, 1, 1, 1)}


class Norm(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.body = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.scale = nn.Parameter(torch.full((width,), 1e-6))

    def forward(self, x):
        return x + (self.scale * self.body(self.mix(x).permute(0, 2, 3, 1))).permute(0, 3, 1, 2)


def convnext(of):
    layers, inputs = [], 3
    for stage, (width, blocks) in enumerate(zip(of.widths, of.blocks)):
        stem = [nn.Conv2d(3, width, 4, 4), Norm(width)] if stage == 0 else [Norm(inputs), nn.Conv2d(inputs, width, 2, 2)]
        layers += [*stem, *(Block(width) for _ in range(blocks))]
        inputs = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(inputs), nn.Linear(inputs, 1000))


def build():
    of = shared.sizes(CUDA, CPU)
    model = convnext(of).to(memory_format=torch.channels_last)
    return shared.train(model, lambda: (torch.randn(of.batch, 3, of.pixels, of.pixels).to(memory_format=torch.channels_last),
                                        torch.randint(0, 1000, (of.batch,))),
                        lambda images, labels: F.cross_entropy(model(images), labels))


if __name__ == "__main__":
    shared.common.run(build, __doc__)
