"""A recommender on the graph of users and items: embeddings spread over edges, pairs ranked, Adam."""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.append(str(Path(__file__).resolve().parents[3] / "fleet_samples" / "programs"))
import common  # noqa: E402

USERS, ITEMS, EDGES, WIDTH, PAIRS, HOPS = 3000, 2000, 30_000, 32, 2048, 2


class Recommender(nn.Module):
    def __init__(self, users, items):
        super().__init__()
        self.rows = nn.Embedding(USERS + ITEMS, WIDTH)
        nn.init.normal_(self.rows.weight, std=0.1)
        ends = torch.cat([users, items + USERS]), torch.cat([items + USERS, users])
        degree = torch.bincount(ends[0], minlength=USERS + ITEMS).clamp(min=1).float()
        self.register_buffer("source", ends[0])
        self.register_buffer("target", ends[1])
        self.register_buffer("weight", (degree[ends[0]] * degree[ends[1]]).rsqrt().unsqueeze(1))

    def forward(self):
        x = self.rows.weight
        spread = [x]
        for _ in range(HOPS):
            x = torch.zeros_like(x).index_add(0, self.target, x[self.source] * self.weight)
            spread.append(x)
        return torch.stack(spread).mean(dim=0)


def build():
    users, items = torch.randint(0, USERS, (EDGES,)), (torch.rand(EDGES).square() * ITEMS).long()
    model = Recommender(users, items)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    batch = common.cycling(lambda: (torch.randint(0, EDGES, (PAIRS,)), torch.randint(0, ITEMS, (PAIRS,))))

    def loss(edges, others):
        rows = model()
        user = rows[users[edges]]
        better = (user * rows[USERS + items[edges]]).sum(dim=1)
        worse = (user * rows[USERS + others]).sum(dim=1)
        return F.softplus(worse - better).mean() + 1e-4 * user.square().sum(dim=1).mean()

    return common.training(optimizer, batch, loss)


if __name__ == "__main__":
    common.run(build, __doc__)
