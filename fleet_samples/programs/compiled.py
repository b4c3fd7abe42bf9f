"""Blocks of layer norm and a wide perceptron over embedded tokens, compiled by torch.compile."""

import torch
import torch.nn.functional as F
from torch import nn

import common

TOKENS, VOCABULARY, WIDTH, LAYERS = 256, 2000, 256, 3


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        return self.head(self.blocks(self.embedding(tokens)))


def build(compile_optimizer=False):
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    forward = torch.compile(model)
    update = torch.compile(optimizer.step) if compile_optimizer else optimizer.step
    batch = common.cycling(lambda: (torch.randint(0, VOCABULARY, (TOKENS,)),
                                    torch.randint(0, VOCABULARY, (TOKENS,))))

    def step():
        tokens, target = batch()
        optimizer.zero_grad()
        F.cross_entropy(forward(tokens), target).backward()
        update()

    return step


if __name__ == "__main__":
    common.run(build, __doc__)
