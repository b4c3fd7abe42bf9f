"""ViT-B/16: trained on 224 x 224 images in bfloat16 by autocast, fused AdamW."""

import torch
import torch.nn.functional as F
from torch import nn

import shared

CUDA = {"batch": 64, "pixels": 224, "width": 768, "heads": 12, "layers": 12}
CPU = {"batch": 1, "pixels": 64, "width": 64, "heads": 2, "layers": 2}


class Vit(nn.Module):
    def __init__(self, of):
        super().__init__()
        self.patches = nn.Conv2d(3, of.width, 16, 16)
        self.first = nn.Parameter(torch.zeros(1, 1, of.width))
        self.positions = nn.Parameter(torch.randn(1 + (of.pixels // 16) ** 2, of.width) * 0.02)
        self.encoder = shared.encoder(of.width, of.heads, of.layers)
        self.head = nn.Linear(of.width, 1000)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], 1) + self.positions
        return self.head(self.encoder(x)[:, 0])


def build():
    of = shared.sizes(CUDA, CPU)
    model = Vit(of)
    return shared.train(model, lambda: (torch.randn(of.batch, 3, of.pixels, of.pixels), torch.randint(0, 1000, (of.batch,))),
                        lambda images, labels: F.cross_entropy(model(images), labels))


if __name__ == "__main__":
    shared.common.run(build, __doc__)
