"""A transformer of routed experts: top-2 gates, index_add, bfloat16, recomputed layers, Adafactor."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import common

BATCH, LENGTH, WIDTH, HEADS, EXPERTS, CHOSEN, LAYERS, WORDS = 4, 96, 192, 6, 6, 2, 2, 3000


class Experts(nn.Module):
    """Each token goes to its two best experts; how many tokens an expert meets changes by step."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.up = nn.ModuleList([nn.Linear(WIDTH, 4 * WIDTH) for _ in range(EXPERTS)])
        self.down = nn.ModuleList([nn.Linear(2 * WIDTH, WIDTH) for _ in range(EXPERTS)])

    def forward(self, x):
        tokens = x.flatten(0, 1)
        chances = self.gate(tokens).softmax(dim=-1, dtype=torch.float32)
        weights, chosen = chances.topk(CHOSEN, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        result = torch.zeros_like(tokens, dtype=torch.float32)
        for expert in range(EXPERTS):
            rows, places = torch.where(chosen == expert)
            value, gate = self.up[expert](tokens[rows]).chunk(2, dim=-1)
            y = self.down[expert](F.silu(gate) * value).float()
            result.index_add_(0, rows, y * weights[rows, places, None])
        used = F.one_hot(chosen, EXPERTS).float().mean(dim=(0, 1))
        return result.view_as(x), EXPERTS * (used * chances.mean(dim=0)).sum()


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.mix = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.experts = Experts()

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2)
                   for part in self.mix(self.before(x)).chunk(3, dim=-1))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        y, balance = self.experts(self.between(x))
        return x + y, balance


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])
        self.norm = nn.RMSNorm(WIDTH)

    def forward(self, words):
        x, balance = self.words(words), 0.0
        for layer in self.layers:
            x, more = checkpoint(layer, x, use_reentrant=False)
            balance = balance + more
        return self.norm(x) @ self.words.weight.t(), balance


def build():
    model = Network()
    optimizer = torch.optim.Adafactor(model.parameters(), lr=1e-2)
    batch = common.cycling(lambda: torch.randint(0, WORDS, (BATCH, LENGTH + 1)))

    def step():
        words = batch()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores, balance = model(words[:, :-1])
            loss = F.cross_entropy(scores.flatten(0, 1).float(), words[:, 1:].flatten(),
                                   label_smoothing=0.1)
        optimizer.zero_grad()
        (loss + 0.01 * balance).backward()
        optimizer.step()

    return step


if __name__ == "__main__":
    common.run(build, __doc__)
