"""BERT base: served in half precision, 32 texts of 256 tokens."""

import torch
from torch import nn

import shared

CUDA = {"batch": 32, "tokens": 256, "vocabulary": 30522, "width": 768, "heads": 12, "layers": 12}
CPU = {"batch": 4, "tokens": 64, "width": 256, "heads": 4, "layers": 4}


class Bert(nn.Module):
    def __init__(self, of):
        super().__init__()
        self.words = nn.Embedding(of.vocabulary, of.width)
        self.positions = nn.Parameter(torch.randn(of.tokens, of.width))
        self.norm = nn.LayerNorm(of.width)
        self.encoder = shared.encoder(of.width, of.heads, of.layers)
        self.pool = nn.Sequential(nn.Linear(of.width, of.width), nn.Tanh())

    def forward(self, tokens):
        return self.pool(self.encoder(self.norm(self.words(tokens) + self.positions))[:, 0])


def build():
    of = shared.sizes(CUDA, CPU)
    return shared.serve(Bert(of), lambda dtype: (torch.randint(0, of.vocabulary, (of.batch, of.tokens)),))


if __name__ == "__main__":
    shared.common.run(build, __doc__)
