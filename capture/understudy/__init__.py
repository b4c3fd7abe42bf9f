"""Capture one training step of a PyTorch program, and the times of the steps before it.

    import understudy
    for batch in loader:
        train(batch)
        understudy.step()       # does nothing, unless understudy-capture runs the script

or, without a command,

    with understudy.capture("captures/mine") as c:
        for batch in loader:
            train(batch)
            if not c.step():            # False once the capture is complete
                break

Without any of that, profiles of torch's own profiler, whose folder `generate` takes:

    with torch.profiler.profile(…, record_shapes=True, profile_memory=True,
                                on_trace_ready=understudy.profile_handler("traces/")): …

run("inspect", "traces/") returns what a program prints, as a dict.

Importing this package does not import torch: the names below are loaded on first use.
"""

import importlib

_HOMES = {"BadOutput": "output", "Capture": "recorder", "CaptureDone": "recorder",
          "CaptureFailed": "output", "IncompleteCapture": "recorder", "capture": "recorder",
          "capture_step": "recorder", "count_allocations": "native",
          "load_speed_probe": "native", "profile_handler": "profiling", "ProgramFailed": "programs",
          "run": "programs", "use_nccl_form": "comms"}
__all__ = [*_HOMES, "set_command_capture", "step"]

STEADY_S = 60  # default for the longest wait for steady steps
_of_command = None  # set by the command for the script that it runs


def set_command_capture(capture_or_none):
    """Sets the capture that step() drives; the command calls it."""
    global _of_command
    _of_command = capture_or_none


def step(*unexpected):
    """Ends a step of a script that understudy-capture runs. Returns True while it needs more steps.

    Takes no arguments. If the script runs by itself, does nothing and returns False.
    """
    if unexpected:
        raise TypeError(f"understudy.step() takes nothing, got {_kind(unexpected[0])}: it is "
                        "called behind each step of a loop; capture_step(step_fn, out_dir) is what "
                        "calls a function once a step")
    return _of_command is not None and _of_command.step()


def _kind(value):
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in tuple('aeiou') else 'a'} {name}"


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
