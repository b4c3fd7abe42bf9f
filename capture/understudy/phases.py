"""The steps of a capture, in their order.

`warmup` steps; `timed` steps with nothing attached, and more of them until steps are steady (settling.py), whose times are the ground truth
for a replay (measurements.py); `free` steps that do not wait for the device between them; one step that warms up the profiler and is thrown
away; `profiled` steps under the Kineto profiler alone, in one profile (`passed`: steps beyond its limit of events); one step whose index
values are counted (indices.py); one step under the execution trace observer and Kineto together; FAULT_STEPS under a profiler that counts
page faults, if there is no GPU; one step whose kernels are counted, if asked for. If the loop ends before the faults' steps, there is no
capture. A step ends at the next call of step(), so it includes loading the next batch. docs/capture.md says what is written and what to
watch for.
"""

import torch

UNWATCHED = ("warmup", "timed", "free", "passed")  # no profiler, no observer
FREE_STEPS = 10  # default with a GPU; on a CPU the host is never ahead of the device
FAULT_STEPS = 4  # at the end; the first only lets the heap settle and is not marked


def plan(*, warmup, timed, free, profiled, trace, indices, counts_faults, counts_kernels=False):
    """Returns the phase of each step. `free` None means FREE_STEPS with a GPU, else 0."""
    if free is None:
        free = FREE_STEPS * bool(torch.cuda.is_available() and timed)
    counts = {"warmup": warmup, "timed": timed, "free": free, "profiler_warmup": profiled > 0, "kineto_only": profiled,
              "indices": trace and indices, "et": trace, "faults": FAULT_STEPS * counts_faults, "counters": counts_kernels}
    return [phase for phase, count in counts.items() for _ in range(count)]
