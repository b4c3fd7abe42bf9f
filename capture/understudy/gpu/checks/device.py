"""Checks the times of operators, and page-locked memory."""

import statistics

from ..layout import PROGRAMS
from ..profiles import in_order, last_step

SHARE, CPU_SHARE = 0.05, 0.5  # allowed difference of times
PINNED = "Memcpy HtoD (Pinned -> Device)"
COPIES = "gpu_memcpy"


def times(machine, findings, work):
    """Compares the replay's own times of the same operators with its kernels under a profile."""
    traces = work / "spans"
    machine.capture(PROGRAMS / "spans.py", traces, "--warmup", 2, "--timed", 5, "--profiled", 1)
    bench = machine.generate(traces, work / "spans.et")
    on_gpu = machine.device == "cuda"
    key = "device_ms" if on_gpu else "ms"
    # Both come from one run: between runs, a GPU at its power limit changes its clocks by more than SHARE.
    events, report = machine.profiled_replay(bench, work / "spans_profiled.json")
    row = next(row for row in report["operators"] if row["name"] == "aten::matmul")
    by_name = {}
    for event in in_order(events, "kernel" if on_gpu else "cpu_op"):
        if on_gpu or event["name"] == "aten::mm":
            by_name.setdefault(event["name"], []).append(event["dur"] / 1e3)
    if not by_name:
        findings.expect("a replay's profile shows kernels", False, "some", "none")
        return
    shown = statistics.median(max(by_name.values(), key=sum))  # the product has by far most of the time
    each = row[key] / row["count"]
    findings.figures["replay_matmul_ms"] = each
    findings.figures["replay_matmul_profiled_ms"] = shown
    findings.within(f"the replay's {key} of the product", each, shown, SHARE if on_gpu else CPU_SHARE)


def pinned(machine, findings, work):
    machine.capture(PROGRAMS / "pinned.py", work / "pinned", "--warmup", 2, "--timed", 5, "--profiled", 1)
    bench = machine.generate(work / "pinned", work / "pinned.et")
    original = [event["name"] for event in last_step(work / "pinned", COPIES)]
    events, _ = machine.profiled_replay(bench, work / "pinned.json")
    replayed = [event["name"] for event in events if event.get("cat") == COPIES]
    for whose, names in (("original", original), ("replay", replayed)):
        findings.figures[f"{whose}_copies"] = len(names)
        findings.expect(f"the {whose} copies from page-locked memory", PINNED in names, PINNED,
                        ", ".join(sorted(set(names))) or "no copies")
