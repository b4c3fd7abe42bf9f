"""Flags, warm-up, timing and report of an emitted benchmark."""

import argparse
import importlib
import os
import socket
import statistics
import sys
import time

import torch

from . import comms, report
from .observe import checksum, noting_checksums, timing
from .operators import REPLACED, CannotCall, wrap
from .tensors import MAKER, choose_device, device, synchronize

BEGIN = time.perf_counter()


def arguments(name, ranks):
    parser = argparse.ArgumentParser(
        description=f"{name}, a training step of {ranks} rank{'' if ranks == 1 else 's'}",
        epilog="Exit status: 0 ok, 1 the run failed, 2 a flag or the number of ranks is wrong")
    parser.add_argument("--iterations", type=int, help="measured iterations, at most (20)")
    parser.add_argument("--seconds", type=float, help="seconds of measured iterations, at most (30)")
    parser.add_argument("--warmup", type=int, default=2, help="iterations before the measured ones (2)")
    parser.add_argument("--threads", type=int, default=0, help="threads of an operator; 0: PyTorch's choice")
    parser.add_argument("--seed", type=int, default=0, help="seed of the tensors' content (0)")
    parser.add_argument("--passes", type=int, default=3, help="iterations that time each operator, for --report (3)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, xpu, mps, hpu, npu, cuda:1, … (cpu); of a vendor's package, as torch_npu, if it is installed")
    parser.add_argument("--import", dest="imports", action="append", default=[], metavar="MODULE",
                        help="a Python module to import first, as one that brings a device to PyTorch under another name")
    parser.add_argument("--backend", help="of torch.distributed (the device's own)")
    parser.add_argument("--op-library", action="append", default=[], help="a library with custom operators")
    parser.add_argument("--report", help="write the result to this file, as a replay of Understudy does")
    parser.add_argument("--checksums", help="write a checksum of each operator's results to this file")
    parser.add_argument("--no-restore", action="store_true",
                        help="never give tensors their first content back between iterations")
    given = parser.parse_args()
    if given.iterations is None and given.seconds is None:
        given.iterations, given.seconds = 20, 30.0
    return given


class Runner:
    def __init__(self, name, step, given, rank, ranks):
        self.name, self.step, self.given, self.rank, self.ranks = name, step, given, rank, ranks
        self.since_restore = self.iteration = 0

    def observed(self, wrapper):
        """Runs the step with each operator wrapped."""
        wrap(wrapper)
        self.step()
        wrap(lambda name, operator: operator)

    def most(self, value):
        return value if self.ranks == 1 else max(comms.all_of(value))

    def timed(self):
        self.most(0)
        begin = time.perf_counter()
        self.step()
        synchronize()
        return (time.perf_counter() - begin) * 1000

    def next_iteration(self):
        if self.every and self.since_restore == self.every:
            MAKER.restore()
            self.since_restore = 0
        self.since_restore += 1
        MAKER.vary(self.iteration)
        self.iteration += 1
        return self.timed()

    def write_checksums(self):
        lines = []
        torch.manual_seed(self.given.seed)
        self.observed(noting_checksums(lines))
        lines += ["after: " + checksum(t) for t in MAKER.changed]
        path = self.given.checksums + ("" if self.ranks == 1 else f".{self.rank}")
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))
        MAKER.restore()

    def find_zeros(self):
        """Restores the zeros of the original's optimizer states, where the step writes none."""
        if device().type == "meta" or not self.most(bool(MAKER.with_zeros)):
            return
        MAKER.clear_zeros()
        for i in range(4):
            MAKER.vary(i)
            self.step()
        MAKER.settle_zeros()

    def find_restore_interval(self):
        """Finds how many steps may run before the content must be restored. Steps that learn from one batch drift."""
        self.every = 0
        if self.given.no_restore or device().type == "meta":
            return
        self.every, begin = 1, time.perf_counter()
        for n in range(1, 17):
            try:
                self.step()
            except RuntimeError:  # an operator refused tensors that earlier iterations changed
                if n == 1 or self.ranks > 1:
                    raise
                break
            floats = [t for t in MAKER.changed if t.is_floating_point()]
            if self.most(not all(torch.isfinite(t).all() for t in floats)):
                break
            self.every = n
            if self.most(time.perf_counter() - begin > 1):
                break
        MAKER.restore()

    def run(self):
        MAKER.fill_all()
        torch.manual_seed(self.given.seed)
        startup_ms = (time.perf_counter() - BEGIN) * 1000
        first = self.timed()
        MAKER.fill_all()
        MAKER.remember()
        if self.given.checksums:
            self.write_checksums()
        self.find_zeros()
        self.find_restore_interval()
        for _ in range(self.given.warmup):
            self.next_iteration()
        samples, cpu = [], time.process_time()
        while not samples or not self.most(
                (self.given.iterations is not None and len(samples) >= self.given.iterations)
                or (self.given.seconds is not None and sum(samples) >= 1000 * self.given.seconds)):
            samples.append(self.next_iteration())
        cpu_ms = (time.process_time() - cpu) * 1000 / len(samples)
        passes = [{} for _ in range(self.given.passes if self.given.report else 0)]
        for times in passes:
            self.most(0)
            self.observed(timing(times))
            synchronize()
        by_iterations = len(samples) == self.given.iterations
        measured = {"samples": samples, "cpu_ms": cpu_ms, "first_iteration_ms": first, "startup_ms": startup_ms,
                    "ended_by": "iterations" if by_iterations else "seconds", "restore_every": self.every, "passes": passes,
                    "replaced": REPLACED, "host": socket.gethostname()}
        ranks = [measured] if self.ranks == 1 else comms.all_of(measured)
        if self.rank == 0:
            self.show(ranks)

    def show(self, ranks):
        samples = [max(times) for times in zip(*(rank["samples"] for rank in ranks))]
        threads = torch.get_num_threads()
        print(f"{self.name}: {statistics.median(samples):.3f} ms an iteration (median of {len(samples)}; {min(samples):.3f} to "
              f"{max(samples):.3f}), {threads} thread{'' if threads == 1 else 's'}, "
              f"{self.ranks} rank{'' if self.ranks == 1 else 's'}")
        for name, by in sorted({row for rank in ranks for row in rank["replaced"].items()}):
            print(f"{name}: by {by}")
        if device().type == "meta":
            print("The device meta holds no values and computes nothing: times are the host's, checksums say nothing of results.")
        if self.given.report:
            report.write(self.given.report, self.given, ranks)


def refuse(why):
    print(f"bench: {why}", file=sys.stderr)
    sys.exit(2)


def run(name, steps, groups):
    given = arguments(name, len(steps))
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if ranks != len(steps):
        refuse(f"this benchmark has {len(steps)} ranks, {ranks} were started: torchrun --nproc-per-node {len(steps)} main.py")
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    try:
        for module in given.imports:
            importlib.import_module(module)
        for library in given.op_library:
            torch.ops.load_library(library)
        choose_device(given.device, local_rank)
    except (ImportError, OSError, RuntimeError, AssertionError) as error:
        refuse(f"{error}; does --device name one that this PyTorch has, or its module with --import?")
    if given.threads:
        torch.set_num_threads(given.threads)
    rank, MAKER.seed = int(os.environ.get("RANK", "0")), given.seed
    try:
        step = importlib.import_module(steps[rank]).step
        if ranks > 1 or groups:
            comms.start(given.backend, groups, ranks)
        Runner(name, step, given, rank, ranks).run()
    except CannotCall as error:
        refuse(str(error))
    except NotImplementedError as error:
        refuse(f"{device()} lacks an operator of the step: {str(error).partition('. ')[0]}")
    if ranks > 1 or groups:
        comms.dist.destroy_process_group()
