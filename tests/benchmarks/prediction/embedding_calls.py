"""Calls over embedding bags as training makes them: their indices, their reuse, their time on this host's CPU."""
import math
import os
import sys

import torch

BINS = 17


def keep_memory():
    """Starts this command again so that the C library keeps freed memory. Otherwise half of a backward pass would be the
    system handing memory out again, and that differs from call to call."""
    kept = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}
    if any(os.environ.get(name) != value for name, value in kept.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **kept})


def draw_indices(table, batch, permutation):
    count = batch * table["pooling"]
    if table["skew"] == 0:
        return torch.randint(table["rows"], (batch, table["pooling"]))
    # This is the inverse of a continuous Zipf distribution's sums; hot rows lie anywhere in the table.
    exponent = 1 - table["skew"]
    uniform = torch.rand(count, dtype=torch.float64)
    if abs(exponent) < 1e-9:
        ranks = torch.exp(uniform * math.log(table["rows"] + 1))
    else:
        ranks = (uniform * ((table["rows"] + 1) ** exponent - 1) + 1) ** (1 / exponent)
    return permutation[(ranks.long() - 1).clamp(0, table["rows"] - 1)].view(batch, table["pooling"])


def reuse_of(indices):
    counts = torch.unique(indices, return_counts=True)[1]
    bins = torch.ceil(torch.log2(counts.double())).long().clamp(0, BINS - 1)
    return [round(share, 6) for share in (torch.bincount(bins, minlength=BINS) / counts.numel()).tolist()]


def time_call(tables, batch, now_ns, repetitions):
    """Nanoseconds of each forward pass, and of each backward pass with its update; and the reuse of each table's first
    indices. Each repetition has its own indices, so that it is as cold as in training."""
    bags = [torch.nn.EmbeddingBag(table["rows"], table["dim"], mode="sum", sparse=True) for table in tables]
    permutations = [torch.randperm(table["rows"]) if table["skew"] else None for table in tables]
    forward, backward, reuse = [], [], None
    for _ in range(repetitions + 2):
        indices = [draw_indices(*drawn) for drawn in zip(tables, [batch] * len(tables), permutations)]
        reuse = reuse or [reuse_of(of_table) for of_table in indices]
        begin = now_ns()
        sums = [bag(of_table) for bag, of_table in zip(bags, indices)]
        middle = now_ns()
        gradients = [torch.ones_like(of_table) for of_table in sums]
        before_backward = now_ns()
        torch.autograd.backward(sums, gradients)
        with torch.no_grad():
            for bag in bags:
                bag.weight.add_(bag.weight.grad, alpha=-0.01)
        end = now_ns()
        for bag in bags:
            bag.weight.grad = None
        forward.append(middle - begin)
        backward.append(end - before_backward)
    return forward[2:], backward[2:], reuse
