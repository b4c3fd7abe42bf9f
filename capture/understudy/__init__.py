"""Capture one training step of a PyTorch program, and the times of the steps before it.

    import understudy
    for batch in loader:
        train(batch)
        understudy.step()       # does nothing, unless `understudy capture` runs the script

or, without a command,

    with understudy.capture("captures/mine") as c:
        for batch in loader:
            train(batch)
            if not c.step():            # False once the capture is complete
                break

Without any of that, profiles of torch's own profiler, whose folder `generate` takes:

    with torch.profiler.profile(…, record_shapes=True, profile_memory=True,
                                on_trace_ready=understudy.profile_handler("traces/")): …

What was recorded is compiled, run, compared and predicted by the verbs:

    import understudy as us
    bench = us.generate("captures/mine")
    report = us.replay(bench, until="1%")   # shows its page in a notebook
    report.iteration_ms.median, report.to_pandas("operators"), us.predict(bench, card="H100")

Importing this package does not import torch.
"""

import importlib
from typing import TYPE_CHECKING, Any, Optional

from .programs import Error, version
from .results import Benchmark, Comparison, Inspection, Prediction, Record, Report, Result, Suite
from .start import at_root
from .verbs import compare, generate, inspect, load, predict, replay, suite

if TYPE_CHECKING:
    from .comms import use_nccl_form
    from .native import count_allocations, load_speed_probe
    from .output import BadOutput, CaptureFailed
    from .profiling import profile_handler
    from .recorder import Capture, CaptureDone, IncompleteCapture, capture, capture_step

    __version__: str
# Loaded on first use: most of them import torch.
_HOMES = {"BadOutput": "output", "Capture": "recorder", "CaptureDone": "recorder",
          "CaptureFailed": "output", "IncompleteCapture": "recorder", "capture": "recorder",
          "capture_step": "recorder", "count_allocations": "native",
          "load_speed_probe": "native", "profile_handler": "profiling", "use_nccl_form": "comms"}
__all__ = ["BadOutput", "Benchmark", "Capture", "CaptureDone", "CaptureFailed", "Comparison", "Error", "IncompleteCapture", "Inspection",
           "Prediction", "Record", "Report", "Result", "Suite", "__version__", "capture", "capture_step", "compare", "count_allocations",
           "generate", "inspect", "load", "load_speed_probe", "predict", "profile_handler", "replay", "set_command_capture", "step", "suite",
           "use_nccl_form"]

STEADY_S = 60  # default for the longest wait for steady steps
_of_command: Optional[Any] = None  # set by the command for the script that it runs


def set_command_capture(capture_or_none: Any) -> None:
    """Sets the capture that step() drives; the command calls it."""
    global _of_command
    _of_command = capture_or_none


def step(*unexpected: Any) -> bool:
    """Ends a step of a script that `understudy capture` runs. Returns True while it needs more steps.

    Takes no arguments. If the script runs by itself, does nothing and returns False.
    """
    if unexpected:
        raise TypeError(f"understudy.step() takes nothing, got {_kind(unexpected[0])}: it is "
                        "called behind each step of a loop; capture_step(step_fn, out_dir) is what "
                        "calls a function once a step")
    return _of_command is not None and bool(_of_command.step())


def _kind(value: Any) -> str:
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in tuple('aeiou') else 'a'} {name}"


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version()
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with at_root():
        return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
