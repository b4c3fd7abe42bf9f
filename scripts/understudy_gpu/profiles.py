"""Kernels in profiles: of a finished profiler, of a capture's files, of a replay."""

import gzip
import json
import tempfile
from pathlib import Path

# Operators on a CPU that do no work themselves: they look at tensors or allocate memory for them.
PLAIN = {
    "empty", "empty_strided", "empty_like", "as_strided", "view", "_unsafe_view", "t", "transpose",
    "reshape", "expand", "slice", "select", "detach", "resolve_conj", "resolve_neg", "to",
    "result_type", "set_", "unsqueeze", "squeeze", "_reshape_alias", "permute", "alias", "unflatten",
    "flatten", "split", "split_with_sizes", "chunk", "narrow", "item", "_local_scalar_dense",
    "lift_fresh", "detach_", "resize_", "is_nonzero"}


def kernels_of(profiler):
    """The kernels of a profiler, in the order in which they began."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profile.json"
        profiler.export_chrome_trace(str(path))
        return in_order(json.loads(path.read_text(encoding="utf-8"))["traceEvents"], "kernel")


def in_order(events, category):
    return sorted((event for event in events if event.get("cat") == category and "dur" in event),
                  key=lambda event: event["ts"])


def last_step(folder, category):
    """Events of the last step in the capture's profile without an observer."""
    with gzip.open(folder / "rank-0.kineto_only.json.gz", "rt", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    steps = [event for event in events if event.get("cat") == "user_annotation"
             and event["name"].startswith("ProfilerStep#")]
    step = max(steps, key=lambda event: event["ts"])
    return [event for event in in_order(events, category)
            if step["ts"] <= event["ts"] <= step["ts"] + step["dur"]]


def named(events, on_gpu):
    """What two runs must have in common: of kernels name, grid and block; of a CPU the ATen operators that
    call no other one, views and bookkeeping (PLAIN) left out."""
    if on_gpu:
        return [(event["name"], tuple(event["args"].get("grid", ())),
                 tuple(event["args"].get("block", ()))) for event in events]
    operators = [event for event in events if event["name"].startswith("aten::")]
    names = [event["name"].removeprefix("aten::") for event in lowest(operators)]
    return [(name,) for name in names if name not in PLAIN]


def lowest(events):
    """Those of nested operators that call no other operator."""
    ends = [event["ts"] + event["dur"] for event in events]
    return [event for i, event in enumerate(events)
            if i + 1 == len(events) or events[i + 1]["ts"] >= ends[i]]


def find(wanted, seen):
    """How often `wanted` occurs in `seen` as a whole, and how much of its beginning occurs at
    most."""
    times, longest, place = 0, 0, 0
    while place <= len(seen) - 1:
        length = 0
        while length < len(wanted) and place + length < len(seen) \
                and seen[place + length] == wanted[length]:
            length += 1
        longest = max(longest, length)
        times += length == len(wanted)
        place += length if length == len(wanted) else 1
    return times, longest
