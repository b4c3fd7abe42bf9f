"""Segmentation of small volumes: 3-d convolutions up and down, instance norms, bfloat16 autocast."""

import torch
import torch.nn.functional as F
from torch import nn

import common

BATCH, SIDE, WIDTH, CLASSES = 2, 32, 12, 4


def twice(inputs, outputs):
    return nn.Sequential(nn.Conv3d(inputs, outputs, 3, padding=1),
                         nn.InstanceNorm3d(outputs, affine=True), nn.PReLU(outputs),
                         nn.Conv3d(outputs, outputs, 3, padding=1),
                         nn.GroupNorm(4, outputs), nn.PReLU())


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = twice(1, WIDTH), twice(WIDTH, 2 * WIDTH)
        self.bottom = twice(2 * WIDTH, 4 * WIDTH)
        self.up2 = nn.ConvTranspose3d(4 * WIDTH, 2 * WIDTH, 2, stride=2)
        self.merge2 = twice(4 * WIDTH, 2 * WIDTH)
        self.merge1 = twice(3 * WIDTH, WIDTH)
        self.head = nn.Conv3d(WIDTH, CLASSES, 1)

    def forward(self, x):
        first = self.down1(x)
        second = self.down2(F.max_pool3d(first, 2))
        y = self.up2(self.bottom(F.avg_pool3d(second, 2)))
        y = self.merge2(torch.cat([y, second], dim=1))
        y = F.interpolate(y, scale_factor=2, mode="trilinear", align_corners=False)
        return self.head(self.merge1(torch.cat([y, first], dim=1)))


def dice(logits, target):
    shares = logits.softmax(dim=1)
    wanted = F.one_hot(target, CLASSES).movedim(-1, 1).to(shares.dtype)
    both = (shares * wanted).sum(dim=(2, 3, 4))
    return 1 - (2 * both / (shares.sum(dim=(2, 3, 4)) + wanted.sum(dim=(2, 3, 4)) + 1)).mean()


def build():
    model = Segmenter()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True,
                                weight_decay=1e-4, foreach=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1000)
    batch = common.cycling(lambda: (torch.randn(BATCH, 1, SIDE, SIDE, SIDE),
                                    torch.randint(0, CLASSES, (BATCH, SIDE, SIDE, SIDE))))

    def step():
        x, target = batch()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(x)
        loss = F.cross_entropy(logits.float(), target) + dice(logits.float(), target)
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
        schedule.step()

    return step


if __name__ == "__main__":
    common.run(build, __doc__)
