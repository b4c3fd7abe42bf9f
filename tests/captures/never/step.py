"""The step of the captures here, each with `understudy capture --as H100 -o NAME step.py`: README.md."""

import argparse

import torch
from torch import nn
import understudy

parser = argparse.ArgumentParser()
parser.add_argument("--relu", action="store_true")
parser.add_argument("--compile", action="store_true")
parser.add_argument("--batch", type=int, default=8)
parser.add_argument("--layers", type=int, default=2)
options = parser.parse_args()
torch.set_default_device("cuda")
layers = [(nn.Linear(64, 64), nn.ReLU() if options.relu else nn.GELU(), nn.LayerNorm(64)) for _ in range(options.layers)]
network = nn.Sequential(*(part for layer in layers for part in layer))
optimizer = torch.optim.AdamW(network.parameters())
forward = torch.compile(network) if options.compile else network
while True:
    forward(torch.randn(options.batch, 64)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    understudy.step()
