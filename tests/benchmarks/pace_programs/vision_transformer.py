"""A vision transformer on patches of images, labels mixed and smoothed, SGD with Nesterov's momentum."""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.append(str(Path(__file__).resolve().parents[3] / "fleet_samples" / "programs"))
import common  # noqa: E402

BATCH, SIZE, PATCH, WIDTH, HEADS, LAYERS, CLASSES = 8, 64, 8, 128, 4, 4, 100


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, PATCH, stride=PATCH)
        self.first = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.places = nn.Parameter(0.02 * torch.randn(1, (SIZE // PATCH) ** 2 + 1, WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True,
                                           norm_first=True)
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, CLASSES))

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], dim=1) + self.places
        return self.head(self.layers(x)[:, 0])


def build():
    model = Transformer()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4)
    batch = common.cycling(lambda: (torch.randn(BATCH, 3, SIZE, SIZE), torch.randint(0, CLASSES, (BATCH,))))

    def loss(images, labels):
        mixed = 0.7 * images + 0.3 * images.flip(0)
        wanted = 0.7 * F.one_hot(labels, CLASSES) + 0.3 * F.one_hot(labels.flip(0), CLASSES)
        return F.cross_entropy(model(mixed), wanted, label_smoothing=0.1)

    return common.training(optimizer, batch, loss)


if __name__ == "__main__":
    common.run(build, __doc__)
