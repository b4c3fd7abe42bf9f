"""A point-cloud network: nearest neighbours found anew in each layer, gathers, maxima, NAdam."""

import torch
import torch.nn.functional as F
from torch import nn

import common

BATCH, POINTS, NEIGHBOURS, PARTS = 4, 512, 16, 8


def edges_of(x):
    """Per point its neighbours' features less its own, and its own: (batch, points, k, 2 c)."""
    nearest = torch.cdist(x, x).topk(NEIGHBOURS, largest=False).indices
    index = nearest.flatten(1).unsqueeze(-1).expand(-1, -1, x.shape[-1])
    neighbours = x.gather(1, index).unflatten(1, (POINTS, NEIGHBOURS))
    own = x.unsqueeze(2).expand_as(neighbours)
    return torch.cat([neighbours - own, own], dim=-1)


class EdgeConvolution(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(2 * inputs, outputs, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x):
        y = self.norm(self.linear(edges_of(x)).permute(0, 3, 1, 2))
        return F.leaky_relu(y, 0.2).amax(dim=3).transpose(1, 2)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([EdgeConvolution(3, 48), EdgeConvolution(48, 64),
                                     EdgeConvolution(64, 96)])
        self.head = nn.Sequential(nn.Linear(48 + 64 + 96 + 256, 128), nn.ELU(), nn.Dropout(0.3),
                                  nn.Linear(128, PARTS))
        self.whole = nn.Linear(48 + 64 + 96, 256)

    def forward(self, x):
        features = []
        for layer in self.layers:
            x = layer(x)
            features.append(x)
        points = torch.cat(features, dim=-1)
        cloud = self.whole(points).max(dim=1, keepdim=True).values.expand(-1, POINTS, -1)
        return self.head(torch.cat([points, cloud], dim=-1))


def build():
    model = Network()
    optimizer = torch.optim.NAdam(model.parameters(), lr=1e-3, weight_decay=1e-4)
    batch = common.cycling(lambda: (torch.randn(BATCH, POINTS, 3),
                                    torch.randint(0, PARTS, (BATCH, POINTS))))

    def step():
        x, parts = batch()
        turn = torch.linalg.qr(torch.randn(BATCH, 3, 3)).Q
        loss = F.multi_margin_loss(model(x @ turn).flatten(0, 1), parts.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


if __name__ == "__main__":
    common.run(build, __doc__)
