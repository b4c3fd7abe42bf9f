"""A U-Net that segments images: group norms, skipped connections, transposed convolutions, Dice loss."""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.append(str(Path(__file__).resolve().parents[3] / "fleet_samples" / "programs"))
import common  # noqa: E402

BATCH, SIZE, WIDTH, CLASSES = 2, 64, 16, 4


def block(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(4, outputs), nn.SiLU(),
                         nn.Conv2d(outputs, outputs, 3, padding=1), nn.GroupNorm(4, outputs), nn.SiLU())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [WIDTH, 2 * WIDTH, 4 * WIDTH]
        self.down = nn.ModuleList(block(a, b) for a, b in zip([3, *widths], widths))
        self.bottom = block(widths[-1], 8 * WIDTH)
        self.grow = nn.ModuleList(nn.ConvTranspose2d(2 * width, width, 2, stride=2) for width in reversed(widths))
        self.up = nn.ModuleList(block(2 * width, width) for width in reversed(widths))
        self.head = nn.Conv2d(WIDTH, CLASSES, 1)

    def forward(self, x):
        skipped = []
        for layers in self.down:
            x = layers(x)
            skipped.append(x)
            x = F.max_pool2d(x, 2)
        x = self.bottom(x)
        for grow, layers in zip(self.grow, self.up):
            x = layers(torch.cat([grow(x), skipped.pop()], dim=1))
        return self.head(x)


def loss(scores, labels):
    shares = scores.softmax(dim=1)
    wanted = F.one_hot(labels, CLASSES).movedim(-1, 1).to(shares.dtype)
    common_part = (shares * wanted).sum(dim=(0, 2, 3))
    dice = 2 * common_part / (shares.sum(dim=(0, 2, 3)) + wanted.sum(dim=(0, 2, 3)) + 1)
    return F.cross_entropy(scores, labels) + 1 - dice.mean()


def build():
    model = UNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    batch = common.cycling(lambda: (torch.randn(BATCH, 3, SIZE, SIZE), torch.randint(0, CLASSES, (BATCH, SIZE, SIZE))))
    return common.training(optimizer, batch, lambda images, labels: loss(model(images), labels))


if __name__ == "__main__":
    common.run(build, __doc__)
