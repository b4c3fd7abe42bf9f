"""Times embedding tables as PyTorch trains them on this machine, so that `understudy shard` can place tables on such machines:

    python embedding_tables.py -o rows.jsonl
    understudy calibrate rows.jsonl -o here.platform.json
    understudy shard TABLES.json --ranks 8 --platform here.platform.json

Each call is a forward pass over one to --tables embedding bags, and a backward pass with the update by sparse gradients. Batch
size, rows, dimension, pooling and skew are drawn at random (Zipf's exponent; 0 is uniform). Each repetition has indices of its
own, so that caches hold what the one before has left, as in training.
"""

import argparse
import json
import os
import random
import statistics
import sys
import time
from pathlib import Path

import torch

BINS = 17  # of the shares of rows that a batch meets 1, 2, 3 to 4, 5 to 8 … times
WARMUP, REPETITIONS = 2, 7
MOST_TABLE_BYTES = 256 << 20
MOST_GATHERED_BYTES = 6 << 20  # for each table of a call


def keep_memory():
    """Starts this command again so that the C library keeps freed memory. Otherwise half of a backward pass would be the system
    handing memory out again, and that differs from call to call."""
    kept = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}
    if any(os.environ.get(name) != value for name, value in kept.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **kept})


def draw_tables(generator, most):
    """A batch size and one to `most` tables."""
    batch = int(2 ** generator.uniform(5, 11))
    tables = []
    for _ in range(generator.randint(1, most)):
        dim = generator.choice([8, 16, 32, 64, 128])
        rows = int(min(10 ** generator.uniform(2.5, 6.5), MOST_TABLE_BYTES / 4 / dim))
        pooling = max(1, int(2 ** generator.uniform(0, 6)))
        tables.append({"rows": rows, "dim": dim, "pooling": pooling, "skew": generator.choice([0, 0, 0.6, 0.9, 1.1, 1.3])})
    gathered = sum(batch * table["pooling"] * table["dim"] * 4 for table in tables)
    return max(8, int(batch * min(1, most * MOST_GATHERED_BYTES / gathered))), tables


def draw_indices(table, batch, permutation):
    """The rows that a batch reads: by the inverse of a continuous Zipf distribution's sums, whose exponent is not 1; hot rows lie anywhere
    in the table."""
    if table["skew"] == 0:
        return torch.randint(table["rows"], (batch, table["pooling"]))
    exponent = 1 - table["skew"]
    uniform = torch.rand(batch * table["pooling"], dtype=torch.float64)
    ranks = (uniform * ((table["rows"] + 1) ** exponent - 1) + 1) ** (1 / exponent)
    return permutation[(ranks.long() - 1).clamp(0, table["rows"] - 1)].view(batch, table["pooling"])


def reuse_of(indices):
    """The shares of the rows met that are met 1, 2, 3 to 4 … times."""
    counts = torch.unique(indices, return_counts=True)[1]
    bins = torch.ceil(torch.log2(counts.double())).long().clamp(0, BINS - 1)
    return [round(share, 6) for share in (torch.bincount(bins, minlength=BINS) / counts.numel()).tolist()]


def time_call(tables, batch, now_ns, repetitions=REPETITIONS, device="cpu"):
    """Nanoseconds of each forward pass, and of each backward pass with its update; and the reuse of each table's first indices."""
    bags = [torch.nn.EmbeddingBag(table["rows"], table["dim"], mode="sum", sparse=True, device=device) for table in tables]
    permutations = [torch.randperm(table["rows"]) if table["skew"] else None for table in tables]
    forward, backward, reuse = [], [], None
    for _ in range(WARMUP + repetitions):
        indices = [draw_indices(table, batch, permutation) for table, permutation in zip(tables, permutations)]
        reuse = reuse or [reuse_of(of_table) for of_table in indices]
        indices = [of_table.to(device) for of_table in indices]
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
    return forward[WARMUP:], backward[WARMUP:], reuse


def rows_of(times, batch, tables):
    """The rows of a call: docs/formats.md, "Embedding rows"."""
    forward, backward, reuse = times
    shapes = [{"rows": table["rows"], "dim": table["dim"], "pooling": table["pooling"], "dtype": "float32", "reuse": shares}
              for table, shares in zip(tables, reuse)]
    for direction, samples in (("forward", forward), ("backward", backward)):
        ordered = sorted(samples)
        yield {"direction": direction, "batch": batch, "tables": shapes, "median_ns": statistics.median(samples),
               "spread_ns": (ordered[-2] - ordered[1]) / 2, "n": len(samples), "source": "embedding_tables"}


def clock_of(options):
    """What tells the time once the device has done its work."""
    if options.device == "cpu":
        return time.perf_counter_ns if options.clock == "wall" else time.process_time_ns

    def now_ns():
        torch.cuda.synchronize(options.device)
        return time.perf_counter_ns()

    return now_ns


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True, help="the file of rows to write")
    parser.add_argument("--calls", type=int, default=200, help="calls to time, half a minute for 200 (default 200)")
    parser.add_argument("--tables", type=int, default=4, help="tables of a call at most (default 4)")
    parser.add_argument("--device", default="cpu", help="cpu (default), cuda or cuda:N")
    parser.add_argument("--threads", type=int, default=1, help="threads of an operator on the CPU (default 1)")
    parser.add_argument("--seed", type=int, default=1, help="of what is drawn (default 1)")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall",
                        help="cpu: the process's own time, which on one thread leaves out other programs'")
    options = parser.parse_args()
    keep_memory()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    generator = random.Random(options.seed)
    lines = [{"format": "understudy-embedding-rows", "version": 1}]
    for number in range(options.calls):
        batch, tables = draw_tables(generator, options.tables)
        lines += rows_of(time_call(tables, batch, clock_of(options), device=options.device), batch, tables)
        if (number + 1) % 20 == 0:
            print(f"{number + 1} of {options.calls} calls", file=sys.stderr)
    options.output.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
