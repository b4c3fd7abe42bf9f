"""A data-parallel job whose slow rank computes --times as much: it applies some of its layers twice."""
import argparse
import time

import torch
import torch.distributed as dist

import understudy

LAYERS, WIDTH, BATCH = 20, 512, 256


class Layers(torch.nn.Module):
    def __init__(self, applied):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))
        self.applied = applied

    def forward(self, x):
        for at in range(self.applied):
            x = torch.relu(self.layers[at * LAYERS // self.applied](x))
        return x


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slow", type=int, help="the slow rank (default: none)")
    parser.add_argument("--times", type=float, default=1.3)
    options = parser.parse_args()
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    torch.set_num_threads(1)
    is_slow = dist.get_rank() == options.slow
    model = torch.nn.parallel.DistributedDataParallel(Layers(round(LAYERS * (options.times if is_slow else 1))))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch = torch.randn(BATCH, WIDTH)
    try:
        while True:  # until the capture ends it
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
            understudy.step()
    finally:
        time.sleep(1)  # gloo's threads let go of the last collective: the reducer's end would wait for them and they for the GIL
        dist.destroy_process_group()


main()
