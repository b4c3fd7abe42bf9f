"""Measures the observers' overhead: nanoseconds that a profiler adds to each recorded event."""

import ctypes
import platform
import struct
import tempfile
import time
from pathlib import Path

import torch
from torch.profiler import ExecutionTraceObserver

from .records import kineto
from .threads import settings

OPERATORS, ROUNDS, TRACED_ROUNDS = 1000, 5, 2


def _loop_ns(tensor):
    """Calls one operator, which records one event, OPERATORS times."""
    begin = time.perf_counter_ns()
    for _ in range(OPERATORS):
        tensor.neg_()
    return time.perf_counter_ns() - begin


def _under_kineto(tensor):
    with kineto():
        return _loop_ns(tensor)


def _under_observer(tensor):
    with tempfile.TemporaryDirectory() as folder:
        observer = ExecutionTraceObserver()
        observer.register_callback(str(Path(folder) / "et.json"))
        try:
            observer.start()
            spent = _loop_ns(tensor)
            observer.stop()
        finally:
            observer.unregister_callback()
        return spent


def _system_counts_faults():
    """Returns whether this process may count page faults, including the kernel's (perf_event)."""
    number = {"x86_64": 298, "aarch64": 241}.get(platform.machine())
    if number is None or platform.system() != "Linux":
        return False
    size, software, page_faults, inherit = 112, 1, 2, 0b11  # disabled, inherit
    attributes = ctypes.create_string_buffer(
        struct.pack("<IIQQQQQ", software, size, page_faults, 0, 0, 0, inherit), size)
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(number, attributes, 0, -1, -1, 0)
    if descriptor < 0:
        return False
    libc.close(descriptor)
    return True


def fault_counting():
    """Returns the configuration for counting page faults by operator; None if the profiler cannot.

    Chance decides which tensors are on fresh pages, and their page faults can take a tenth of a step. A replay needs the counts to
    reproduce them. Counting costs some microseconds per event, so the times of such a profile are of little use.
    """
    if torch.cuda.is_available() or not _system_counts_faults():
        return None
    return settings(counts_faults=True)


def _launch_ns():
    """Returns the time that a profile adds to an operator's kernel launch, without waiting for the kernel."""
    tensor = torch.zeros(1, device="cuda")
    _loop_ns(tensor)

    def fastest(run):
        rounds = []
        for _ in range(ROUNDS):
            torch.cuda.synchronize()
            rounds.append(run(tensor))
        return min(rounds)

    bare = fastest(_loop_ns)
    return (fastest(_under_kineto) - bare) / OPERATORS


def observer_cost(traced=True):
    """Returns {"kineto_event": ns per event of a profile, "et_node": ns per node of a trace, or None, "kineto_launch": ns per launch of a
    kernel besides its operator's event, or None without a GPU}.

    Measured on an operator that does almost nothing: the fastest round with the observer minus the fastest without. Caches are warm, so
    this is the lowest overhead.
    """
    with torch.no_grad():
        tensor = torch.zeros(1)
        _loop_ns(tensor)
        bare = min(_loop_ns(tensor) for _ in range(ROUNDS))
        kineto = min(_under_kineto(tensor) for _ in range(ROUNDS))
        trace = min(_under_observer(tensor) for _ in range(TRACED_ROUNDS)) if traced else None
        launch = _launch_ns() if torch.cuda.is_available() else None
    event = max(0.0, (kineto - bare) / OPERATORS)
    return {"kineto_event": event,
            "kineto_launch": None if launch is None else max(0.0, launch - event),
            "et_node": max(0.0, (trace - bare) / OPERATORS) if traced else None}
