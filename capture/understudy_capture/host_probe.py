"""How fast the host is beside the steps: a fixed piece of work like that of an interpreter.

TorchScript's interpreter runs a short program of branches, small lists and a table. The code that
runs is LibTorch's, here and in a replay alike, so a capture needs nothing compiled.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import torch

NAME = "torchscript-1"  # a change of the numbers or of the program makes another kind
ROUNDS = 400
RUNS = 3
SETTLING_RUNS = 10
SOURCE = Path(__file__).with_name("host_probe.torchscript")


class HostProbe:
    """Each call measures: microseconds, the fastest of RUNS; half a millisecond in all."""

    def __init__(self):
        self.kind = f"{NAME} {torch.__version__.split('+')[0]}"
        unit = torch.jit.CompilationUnit(SOURCE.read_text(encoding="utf-8"))
        self._unit = unit  # owns the function
        self._function = unit.probe
        for _ in range(SETTLING_RUNS):
            self()

    def __call__(self):
        torch.autograd._enable_record_function(False)  # a profile of the steps must not show it
        try:
            whole = min(self._run_ns(ROUNDS) for _ in range(RUNS))
            call = min(self._run_ns(0) for _ in range(RUNS))
        finally:
            torch.autograd._enable_record_function(True)
        return (whole - call) / 1e3

    def _run_ns(self, rounds):
        begin = time.perf_counter_ns()
        self._function(rounds)
        return time.perf_counter_ns() - begin


def load_host_probe():
    """A HostProbe; None, with a warning, if this torch has no TorchScript."""
    try:
        return HostProbe()
    except (RuntimeError, AttributeError, OSError) as problem:
        warnings.warn("the host's speed is not recorded, so a replay cannot scale gaps by it: "
                      f"{problem}", stacklevel=2)
        return None
