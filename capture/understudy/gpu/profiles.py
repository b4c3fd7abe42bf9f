"""Kernels in profiles: a capture's, a replay's."""

import gzip
import json

# CPU operators without work of their own: they create views or allocate memory.
PLAIN = {
    "empty", "empty_strided", "empty_like", "as_strided", "view", "_unsafe_view", "t", "transpose",
    "reshape", "expand", "slice", "select", "detach", "resolve_conj", "resolve_neg", "to",
    "result_type", "set_", "unsqueeze", "squeeze", "_reshape_alias", "permute", "alias", "unflatten",
    "flatten", "split", "split_with_sizes", "chunk", "narrow", "item", "_local_scalar_dense",
    "lift_fresh", "detach_", "resize_", "is_nonzero"}


def in_order(events, category):
    return sorted((event for event in events if event.get("cat") == category and "dur" in event),
                  key=lambda event: event["ts"])


def last_step(folder, category):
    """Returns the events of the last step in the capture's profile without the trace observer."""
    with gzip.open(folder / "rank-0.kineto_only.json.gz", "rt", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    steps = [event for event in events if event.get("cat") == "user_annotation"
             and event["name"].startswith("ProfilerStep#")]
    step = max(steps, key=lambda event: event["ts"])
    return [event for event in in_order(events, category)
            if step["ts"] <= event["ts"] <= step["ts"] + step["dur"]]


def named(events, on_gpu):
    """Returns what two runs must have in common: name, grid and block of kernels. On a CPU: the ATen operators that call no other one,
    without views and bookkeeping (PLAIN)."""
    if on_gpu:
        return [(event["name"], tuple(event["args"].get("grid", ())),
                 tuple(event["args"].get("block", ()))) for event in events]
    operators = [event for event in events if event["name"].startswith("aten::")]
    names = [event["name"].removeprefix("aten::") for event in lowest(operators)]
    return [(name,) for name in names if name not in PLAIN]


def lowest(events):
    """Returns the innermost of nested operators."""
    ends = [event["ts"] + event["dur"] for event in events]
    return [event for i, event in enumerate(events)
            if i + 1 == len(events) or events[i + 1]["ts"] >= ends[i]]


def find(wanted, seen):
    """Returns how often `wanted` occurs completely in `seen`, and the length of its longest beginning in `seen`."""
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
