"""A language model of two GRU layers, tied to its embedding; clipped gradients, RMSprop."""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.append(str(Path(__file__).resolve().parents[3] / "fleet_samples" / "programs"))
import common  # noqa: E402

BATCH, LENGTH, VOCABULARY, WIDTH = 16, 32, 3000, 192


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.GRU(WIDTH, WIDTH, num_layers=2, dropout=0.1, batch_first=True)
        self.bias = nn.Parameter(torch.zeros(VOCABULARY))

    def forward(self, tokens):
        hidden, _ = self.layers(self.tokens(tokens))
        return F.linear(F.dropout(hidden, 0.1, self.training), self.tokens.weight, self.bias)


def build():
    model = Language()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-4)
    batch = common.cycling(lambda: torch.randint(0, VOCABULARY, (BATCH, LENGTH + 1)))

    def step():
        tokens = batch()
        optimizer.zero_grad()
        F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


if __name__ == "__main__":
    common.run(build, __doc__)
