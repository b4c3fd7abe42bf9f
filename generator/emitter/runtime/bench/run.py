"""Flags, warm-up, timing and report of an emitted benchmark."""

import argparse
import inspect
import json
import os
import re
import statistics
import sys
import time

import torch

from . import comms
from .observe import Recorder, checksum
from .tensors import Maker, choose_device, device


def arguments(name, ranks):
    parser = argparse.ArgumentParser(
        description=f"{name}, a training step of {ranks} rank{'' if ranks == 1 else 's'}",
        epilog="Exit status: 0 ok, 1 the run failed, 2 a flag or the number of ranks is wrong")
    parser.add_argument("--iterations", type=int, help="measured iterations, at most (20)")
    parser.add_argument("--seconds", type=float, help="seconds of measured iterations, at most (30)")
    parser.add_argument("--warmup", type=int, default=2, help="iterations before the measured ones (2)")
    parser.add_argument("--threads", type=int, default=0, help="threads of an operator; 0: PyTorch's choice")
    parser.add_argument("--seed", type=int, default=0, help="seed of the tensors' content (0)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N (cpu)")
    parser.add_argument("--op-library", action="append", default=[], help="a library with custom operators")
    parser.add_argument("--report", help="write the result to this file, as JSON")
    parser.add_argument("--checksums", help="write a checksum of each operator's results to this file")
    parser.add_argument("--no-restore", action="store_true",
                        help="never give tensors their first content back between iterations")
    given = parser.parse_args()
    if given.iterations is None and given.seconds is None:
        given.iterations, given.seconds = 20, 30.0
    return given


def synchronize():
    if device().type == "cuda":
        torch.cuda.synchronize()


class Runner:
    def __init__(self, name, steps, given, rank, ranks):
        self.name, self.given, self.rank, self.ranks = name, given, rank, ranks
        self.step, self.maker = steps[rank](), Maker(given.seed)
        self.module = sys.modules[type(self.step).__module__]
        self.since_restore = self.iteration = 0

    def most(self, value):
        return value if self.ranks == 1 else comms.most(value)

    def timed(self):
        self.most(0)
        begin = time.perf_counter()
        self.step.run()
        synchronize()
        return (time.perf_counter() - begin) * 1000

    def next_iteration(self):
        if self.every and self.since_restore == self.every:
            self.maker.restore()
            self.since_restore = 0
        self.since_restore += 1
        self.maker.vary(self.iteration)
        self.iteration += 1
        return self.timed()

    def write_checksums(self):
        lines = []
        torch.manual_seed(self.given.seed)
        ops, self.module.ops = self.module.ops, Recorder(torch.ops, lines)
        self.step.run()
        self.module.ops = ops
        lines += ["after: " + checksum(t) for t in self.maker.changed]
        path = self.given.checksums + ("" if self.ranks == 1 else f".{self.rank}")
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))
        self.maker.restore()

    def find_zeros(self):
        """Optimizer states have zeros where the original's had: where the step writes none."""
        if not self.most(bool(self.maker.with_zeros)):
            return
        self.maker.clear_zeros()
        for i in range(4):
            self.maker.vary(i)
            self.step.run()
        self.maker.settle_zeros()

    def find_restore_interval(self):
        """Steps that learn from one batch for ever drift: after how many is the content given back?"""
        self.every = 0
        if self.given.no_restore:
            return
        self.every, begin = 1, time.perf_counter()
        for n in range(1, 17):
            try:
                self.step.run()
            except RuntimeError:  # an operator refuses what earlier iterations made of its tensors
                if n == 1 or self.ranks > 1:
                    raise
                break
            floats = [t for t in self.maker.changed if t.is_floating_point()]
            if self.most(not all(torch.isfinite(t).all() for t in floats)):
                break
            self.every = n
            if self.most(time.perf_counter() - begin > 1):
                break
        self.maker.restore()

    def run(self):
        self.step.make(self.maker)
        self.maker.fill_all()
        torch.manual_seed(self.given.seed)
        first = self.timed()
        self.maker.fill_all()
        self.maker.remember()
        if self.given.checksums:
            self.write_checksums()
        self.find_zeros()
        self.find_restore_interval()
        for _ in range(self.given.warmup):
            self.next_iteration()
        samples = []
        while not samples or not self.most(
                (self.given.iterations is not None and len(samples) >= self.given.iterations)
                or (self.given.seconds is not None and sum(samples) >= 1000 * self.given.seconds)):
            samples.append(self.most(self.next_iteration()))
        if self.rank == 0:
            self.report(samples, first)

    def report(self, samples, first):
        median = statistics.median(samples)
        threads = torch.get_num_threads()
        print(f"{self.name}: {median:.3f} ms an iteration (median of {len(samples)}; {min(samples):.3f} to "
              f"{max(samples):.3f}), {threads} thread{'' if threads == 1 else 's'}, "
              f"{self.ranks} rank{'' if self.ranks == 1 else 's'}")
        if self.given.report:
            with open(self.given.report, "w", encoding="utf-8") as file:
                json.dump({"format": "emitted-benchmark-report", "version": 1, "name": self.name,
                           "ranks": self.ranks, "threads": threads, "seed": self.given.seed,
                           "warmup": self.given.warmup, "restore_every": self.every,
                           "first_iteration_ms": first, "device": str(device()), "torch": torch.__version__,
                           "iteration_ms": {"count": len(samples), "min": min(samples), "median": median,
                                            "max": max(samples), "samples": samples}}, file)


def missing_operators(source):
    """Of the operators that a step's text calls by torch.ops, those that this PyTorch does not know."""
    called = sorted(set(re.findall(r"\bops\.(\w+)\.(\w+)", source)))
    return [f"{library}::{name}" for library, name in called if not hasattr(getattr(torch.ops, library), name)]


def run(name, steps, groups):
    given = arguments(name, len(steps))
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if ranks != len(steps):
        print(f"bench: this benchmark has {len(steps)} ranks, {ranks} were started: "
              f"torchrun --nproc-per-node {len(steps)} main.py", file=sys.stderr)
        sys.exit(2)
    for library in given.op_library:
        torch.ops.load_library(library)
    missing = {operator for step in steps
               for operator in missing_operators(inspect.getsource(sys.modules[step.__module__]))}
    if missing:
        print(f"bench: this PyTorch has no operator {', '.join(sorted(missing))}: give the library that has it, "
              "--op-library LIB.so", file=sys.stderr)
        sys.exit(2)
    choose_device(given.device)
    if given.threads:
        torch.set_num_threads(given.threads)
    rank = int(os.environ.get("RANK", "0"))
    if ranks > 1:
        comms.start(device().type, groups, ranks)
    # The backward operators are in the step.
    below_autograd = torch._C._AutoDispatchBelowAutograd()
    Runner(name, steps, given, rank, ranks).run()
    del below_autograd
    if ranks > 1:
        comms.finish()
