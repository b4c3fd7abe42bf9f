"""What every sample program shares: arguments, seed, and the loop that a capture rides on."""

import argparse
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the folder of this package
import understudy  # noqa: E402


def parse_arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seed", type=int, default=1, help="of parameters and data (default 1)")
    parser.add_argument("--steps", type=int, default=1000, help="steps to train (default 1000)")
    parser.add_argument("--device", default="cpu", help="where to train: cpu (default) or cuda")
    return parser.parse_args()


def start_ranks(description):
    """For programs of several ranks: NCCL where they train on GPUs, one for each rank, else Gloo."""
    if parse_arguments(description).device == "cpu":
        dist.init_process_group("gloo")
    else:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl")


def run(build, description):
    """build() sets the model up and returns the function that trains one step."""
    arguments = parse_arguments(description)
    torch.manual_seed(arguments.seed)
    if arguments.device == "cpu":
        step = build()
    else:
        with torch.device(arguments.device):
            step = build()
    for _ in range(arguments.steps):
        step()
        understudy.step()


def training(optimizer, next_batch, loss_of):
    """The step of most programs: loss_of() gets what a batch holds."""
    def step():
        batch = next_batch()
        optimizer.zero_grad()
        loss_of(*batch).backward()
        optimizer.step()

    return step


def cycling(make_batch, count=4):
    """Makes `count` batches beforehand and hands them out in turn, so that no step makes data."""
    batches = [make_batch() for _ in range(count)]
    position = 0

    def next_batch():
        nonlocal position
        position += 1
        return batches[position % count]

    return next_batch
