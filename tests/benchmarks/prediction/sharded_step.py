"""A step over sharded embedding tables, for sharding_study: sharded_step.py TASK.json, under torchrun and scripts/capture.

TASK.json: {"batch": samples of a rank, "tables": [{"rows", "dim", "pooling", "skew"}], "rank_of": [the rank of each table]}. Each
rank looks up its tables for the samples of all ranks, sends each rank the sums of its samples, gets their gradients back
and updates its tables.
"""
import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[2] / "capture/understudy/examples"), str(HERE.parents[2] / "capture")]
import understudy  # noqa: E402
from embedding_tables import draw_indices  # noqa: E402

STEPS = 60


def exchange(part, sizes_out, sizes_in):
    whole = part.new_empty(sum(sizes_in))
    dist.all_to_all_single(whole, part, sizes_in, sizes_out)
    return whole


def main():
    task = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    dist.init_process_group("gloo")
    rank, ranks, batch = dist.get_rank(), dist.get_world_size(), task["batch"]
    torch.manual_seed(rank)
    own = [table for table, of_table in zip(task["tables"], task["rank_of"]) if of_table == rank]
    widths = [sum(table["dim"] for table, of_table in zip(task["tables"], task["rank_of"]) if of_table == of_rank)
              for of_rank in range(ranks)]  # fmt: skip
    bags = [torch.nn.EmbeddingBag(table["rows"], table["dim"], mode="sum", sparse=True) for table in own]
    permutations = [torch.randperm(table["rows"]) if table["skew"] else None for table in own]
    batches = [[draw_indices(*drawn) for drawn in zip(own, [ranks * batch] * len(own), permutations)]
               for _ in range(4)]  # fmt: skip
    sizes_own, sizes_all = [batch * widths[rank]] * ranks, [batch * width for width in widths]
    for number in range(STEPS):
        sums = [bag(indices) for bag, indices in zip(bags, batches[number % len(batches)])]
        part = torch.cat(sums, 1).flatten() if sums else torch.empty(0)
        whole = exchange(part.detach(), sizes_own, sizes_all)
        gradient = exchange(whole, sizes_all, sizes_own)
        if sums:
            parts = gradient.view(ranks * batch, widths[rank]).split([table["dim"] for table in own], 1)
            torch.autograd.backward(sums, [part.contiguous() for part in parts])
            with torch.no_grad():
                for bag in bags:
                    bag.weight.add_(bag.weight.grad, alpha=-1e-6)
                    bag.weight.grad = None
        understudy.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
