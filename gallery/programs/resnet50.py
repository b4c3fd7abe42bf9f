"""ResNet-50: trained in bfloat16 by autocast, channels last, fused AdamW."""

import torch
import torch.nn.functional as F
from torch import nn

import shared

CUDA = {"batch": 128, "pixels": 224, "width": 64}
CPU = {"batch": 1, "pixels": 96, "width": 32}


def convolution(inputs, outputs, size, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False), nn.BatchNorm2d(outputs))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.body = nn.Sequential(convolution(inputs, width, 1), nn.ReLU(inplace=True), convolution(width, width, 3, stride),
                                  nn.ReLU(inplace=True), convolution(width, 4 * width, 1))
        self.shortcut = nn.Identity() if inputs == 4 * width else convolution(inputs, 4 * width, 1, stride)

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x), inplace=True)


def resnet50(width):
    layers, inputs = [convolution(3, width, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, padding=1)], width
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            layers.append(Bottleneck(inputs, width << stage, 2 if stage > 0 and block == 0 else 1))
            inputs = 4 * (width << stage)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))


def build():
    of = shared.sizes(CUDA, CPU)
    model = resnet50(of.width).to(memory_format=torch.channels_last)
    return shared.train(model, lambda: (torch.randn(of.batch, 3, of.pixels, of.pixels).to(memory_format=torch.channels_last),
                                        torch.randint(0, 1000, (of.batch,))),
                        lambda images, labels: F.cross_entropy(model(images), labels))


if __name__ == "__main__":
    shared.common.run(build, __doc__)
