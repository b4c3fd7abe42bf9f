"""Captures a step of a program by torch.cuda.graph, and prints the median time of its launches in
milliseconds: graphed.py PROGRAM.py."""

import functools
import importlib
import statistics
import sys
import time
from pathlib import Path

import torch

WARMUP, LAUNCHES = 3, 30


def main():
    torch.manual_seed(1)
    # An optimizer refuses to be captured unless it was told before.
    torch.optim.AdamW = functools.partial(torch.optim.AdamW, capturable=True)
    sys.path.insert(0, str(Path(sys.argv[1]).parent))
    with torch.device("cuda"):
        step = importlib.import_module(Path(sys.argv[1]).stem).build()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(WARMUP):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        step()
    times_ms = []
    for _ in range(WARMUP + LAUNCHES):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        graph.replay()
        torch.cuda.synchronize()
        times_ms.append(1e3 * (time.perf_counter() - begin))
    print(statistics.median(times_ms[WARMUP:]))


if __name__ == "__main__":
    main()
