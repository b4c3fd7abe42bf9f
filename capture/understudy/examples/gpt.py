"""A small GPT: causal attention, GELU, layer norms, clipped gradients; users choose the update."""

import torch
import torch.nn.functional as F
from torch import nn

import common

BATCH, CONTEXT, VOCABULARY, WIDTH, HEADS, LAYERS = 4, 128, 4096, 256, 8, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.project = nn.Linear(WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.grow = nn.Linear(WIDTH, 4 * WIDTH)
        self.shrink = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (part.unflatten(2, (HEADS, -1)).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(WIDTH, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(y.transpose(1, 2).flatten(2))
        return x + self.shrink(F.gelu(self.grow(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(positions)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def build(make_optimizer, wrap=lambda model: model):
    """wrap puts a model into data parallel; it is left out on one rank."""
    model = wrap(Gpt())
    optimizer = make_optimizer(model.parameters())
    batch = common.cycling(lambda: torch.randint(0, VOCABULARY, (BATCH, CONTEXT + 1)))

    def step():
        tokens = batch()
        optimizer.zero_grad()
        logits = model(tokens[:, :-1])
        F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step
