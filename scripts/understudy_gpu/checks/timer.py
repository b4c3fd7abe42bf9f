"""Compares clocks: events, the replay's device_ms, and the kernels that torch.profiler shows."""

import statistics
import time

import torch
from torch.profiler import ProfilerActivity, profile

from ..layout import PROGRAMS
from ..profiles import in_order, kernels_of

ROUNDS = 10
HOLD_CYCLES = 20_000_000  # about 10 ms; all measured launches are issued within this time
SPIN_CYCLES = 2_000_000
MOST_EMPTY_MS = 0.02
SHARE = 0.05
SMALL_MS = 0.004  # start and end of a short kernel, and the events' own time
CPU_SHARE = 0.25
QUEUE_LAUNCHES = 3000
LEAST_QUEUE = 512  # launches of one operator, timed after the stream was blocked
QUEUE_HOLD_MS = 300


def side(device):
    return 8192 if device == "cuda" else 768


def _spans(device):
    """Returns name → the work that is timed."""
    n = side(device)
    kind = torch.bfloat16 if device == "cuda" else torch.float32
    a, b, c = (torch.randn(n, n, device=device, dtype=kind) for _ in range(3))
    small = torch.zeros(8, device=device)
    spans = {"empty": lambda: None, "small": lambda: small.add_(1)}
    if device == "cuda":
        spans["spin"] = lambda: torch.cuda._sleep(SPIN_CYCLES)
    spans["matmul"] = lambda: torch.mm(a, b, out=c)
    return spans


def run(machine, findings, _work):
    (_events if machine.device == "cuda" else _host_clock)(findings)


def _events(findings):
    spans = _spans("cuda")
    for run_span in spans.values():
        run_span()
    torch.cuda.synchronize()
    for name, run_span in spans.items():
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], acc_events=True) as seen:
            events_ms = []
            for _ in range(ROUNDS):
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                torch.cuda._sleep(HOLD_CYCLES)
                begin.record()
                run_span()
                end.record()
                torch.cuda.synchronize()
                events_ms.append(begin.elapsed_time(end))
        by_event = statistics.median(events_ms)
        findings.figures[f"{name}_ms"] = by_event
        if name == "empty":
            empty = by_event
            findings.expect("an empty span between events, ms", by_event <= MOST_EMPTY_MS,
                            f"{MOST_EMPTY_MS} at most", f"{by_event:.4f}")
            continue
        # In each round a spinning kernel, by far the longest, blocks the stream.
        kernels = kernels_of(seen)
        shown = [kernel["dur"] / 1e3 for kernel in kernels if "spin" not in kernel["name"]] \
            if name != "spin" else sorted(kernel["dur"] / 1e3 for kernel in kernels)[:ROUNDS]
        if not shown:
            findings.expect(f"torch.profiler shows kernels ({name})", False, "some", "none")
            continue
        by_profiler = statistics.median(shown)
        findings.figures[f"{name}_kernel_ms"] = by_profiler
        findings.within(f"{name} by events less the empty span, ms", by_event - empty, by_profiler,
                        SHARE, SMALL_MS)


def _host_clock(findings):
    """The same check on a CPU: compares the host's clock with the operators' times in a profile."""
    for name, run_span in _spans("cpu").items():
        run_span()
        with profile(activities=[ProfilerActivity.CPU], acc_events=True) as seen:
            spans_ms = []
            for _ in range(ROUNDS):
                begin = time.perf_counter_ns()
                run_span()
                spans_ms.append((time.perf_counter_ns() - begin) / 1e6)
        by_clock = statistics.median(spans_ms)
        findings.figures[f"{name}_ms"] = by_clock
        if name == "empty":
            findings.expect("an empty span, ms", by_clock <= MOST_EMPTY_MS, f"{MOST_EMPTY_MS} at most",
                            f"{by_clock:.4f}")
            continue
        shown = [event.time_range.elapsed_us() / 1e3 for event in seen.events()
                 if event.name in ("aten::add_", "aten::mm")]
        by_profiler = statistics.median(shown)
        findings.figures[f"{name}_profiled_ms"] = by_profiler
        findings.within(f"{name} by the clock, ms", by_clock, by_profiler, CPU_SHARE, 0.02)


def device_times(machine, findings, work):
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
        if "spin" not in event["name"] if on_gpu else event["name"] == "aten::mm":
            by_name.setdefault(event["name"], []).append(event["dur"] / 1e3)
    if not by_name:
        findings.expect("a replay's profile shows kernels", False, "some", "none")
        return
    shown = statistics.median(max(by_name.values(), key=sum))  # the product has by far most of the time
    each = row[key] / row["count"]
    findings.figures["replay_matmul_ms"] = each
    findings.figures["replay_matmul_profiled_ms"] = shown
    findings.within(f"the replay's {key} of the product", each, shown, SHARE if on_gpu else 2 * CPU_SHARE)


def queue(_machine, findings, _work):
    """Counts launches after the stream was blocked, until one of them waits."""
    small = torch.zeros(8, device="cuda")
    small.add_(1)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    torch.cuda._sleep(HOLD_CYCLES)
    end.record()
    torch.cuda.synchronize()
    cycles = int(HOLD_CYCLES * QUEUE_HOLD_MS / begin.elapsed_time(end))
    torch.cuda._sleep(cycles)
    begun = last = time.perf_counter()
    depth = None
    for launch in range(QUEUE_LAUNCHES):
        small.add_(1)
        now = time.perf_counter()
        if depth is None and now - last > QUEUE_HOLD_MS / 4e3:
            depth = launch
        last = now
    issued_ms = 1e3 * (last - begun)
    torch.cuda.synchronize()
    findings.figures["issued_ms"] = issued_ms
    findings.figures["depth"] = depth if depth is not None else f"more than {QUEUE_LAUNCHES}"
    findings.expect("launches before the host waits", depth is None or depth >= LEAST_QUEUE,
                    f"{LEAST_QUEUE} at least", findings.figures["depth"])
