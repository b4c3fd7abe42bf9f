"""Captures a large GPT once, and compares its replay with it."""

import json
import statistics

from .. import samples
from ..layout import PROGRAMS
from ..machine import NotRun
from ..profiles import find, in_order, last_step, named

PROGRAM = PROGRAMS / "large_gpt.py"
SHARE = 0.03  # allowed difference between two runs of the same program
MEMORY_SHARE = 0.05
PLANTED_PERCENT = 100
STEPS = ["--warmup", 3, "--timed", 10]
ITERATIONS = ["--warmup", 3, "--iterations", 10, "--passes", 5]
COMPARED = ["--warmup", 3, "--iterations", 30, "--passes", 20]


def bench_of(work):
    bench = work / "gpt.et"
    if not bench.exists():
        raise NotRun("the check gpt gave no benchmark")
    return bench


def capture(machine, findings, work):
    options = ["--profiled", 2, "--shapes", "--counters"]
    allocations = machine.libraries / "libunderstudy_allocations.so"
    if machine.device == "cpu" and allocations.exists():
        options += ["--count-allocations", allocations]
    rank = machine.capture(PROGRAM, work / "gpt", *STEPS, *options)
    (work / "gpt.rank.json").write_text(json.dumps(rank), encoding="utf-8")
    machine.generate(work / "gpt", work / "gpt.et")
    report = machine.replay(work / "gpt.et", work / "gpt.json", *ITERATIONS)
    original = statistics.median(rank["step_ns"]) / 1e6
    findings.figures.update({"original_ms": original, "replay_ms": report["iteration_ms"]["median"],
                             "coverage": report["coverage"]["count"],
                             "operators": report["coverage"]["selected"]})
    findings.equal("coverage", report["coverage"]["count"], 1)
    findings.equal("outputs that differ", report["output_mismatches"], 0)
    findings.equal("tensors with NaN or Inf", sum(report["values"][key] for key in ("nan", "inf")), 0)


def alone(machine, findings, work):
    """Compares the benchmark made from the traced step's profile alone with the trace's."""
    bench_of(work)
    bench = machine.generate(work / "gpt" / "rank-0.kineto.json.gz", work / "gpt_alone.et")
    report = machine.replay(bench, work / "gpt_alone.json", *ITERATIONS)
    traced = json.loads((work / "gpt.json").read_text(encoding="utf-8"))
    findings.figures.update({"coverage": report["coverage"]["count"], "operators": report["coverage"]["selected"]})
    findings.equal("coverage", report["coverage"]["count"], 1)
    findings.equal("outputs that differ", report["output_mismatches"], 0)
    share = SHARE if machine.device == "cuda" else 10 * SHARE  # other programs share the CPU
    for name, figure in (("iteration_ms", lambda of: of["iteration_ms"]["median"]),
                         ("operators_ms", _operators_ms), ("peak_bytes", samples.peak_bytes)):
        findings.figures.update({name: figure(report), f"traced_{name}": figure(traced)})
        findings.within(name, figure(report), figure(traced), MEMORY_SHARE if name == "peak_bytes" else share)


def _operators_ms(report):
    return samples.operators_ms(report, "device_ms" if report["ranks"][0].get("gpu") else "ms")


def kernels(machine, findings, work):
    """Checks that the replay's profile has the names, grids and blocks of the original's last profiled
    step."""
    bench = bench_of(work)
    on_gpu = machine.device == "cuda"
    category = "kernel" if on_gpu else "cpu_op"
    wanted = named(last_step(work / "gpt", category), on_gpu)
    events, _ = machine.profiled_replay(bench, work / "gpt_kernels.json")
    seen = named(in_order(events, category), on_gpu)
    times, longest = find(wanted, seen)
    findings.figures.update({"in_a_step": len(wanted), "steps_found": times, "longest_part": longest})
    findings.expect("the step's kernels were profiled" if on_gpu else "the step's operators were profiled",
                    wanted, "some", "none")
    after = "" if longest >= len(wanted) else f", then not {wanted[longest]}"
    findings.expect("the step is in the replay's profile from end to end", times >= 1,
                    f"all {len(wanted)} in order", f"the first {longest}{after}")


def null(machine, findings, work):
    bench = bench_of(work)
    originals, replays = [], []
    for turn in ("1", "2"):
        rank = machine.capture(PROGRAM, work / f"gpt_null_{turn}", *STEPS, "--profiled", 0, "--no-trace")
        originals.append(statistics.median(rank["step_ns"]) / 1e6)
        report = machine.replay(bench, work / f"gpt_null_{turn}.json", *ITERATIONS)
        replays.append(report["iteration_ms"]["median"])
    findings.figures.update({"original_ms": originals[0], "original_again_ms": originals[1],
                             "replay_ms": replays[0], "replay_again_ms": replays[1]})
    share = SHARE if machine.device == "cuda" else 10 * SHARE  # other programs share the CPU
    findings.within("the original again, ms", originals[1], originals[0], share)
    findings.within("the replay again, ms", replays[1], replays[0], share)


def planted(machine, findings, work):
    bench = bench_of(work)
    base = work / "gpt_base.json"
    machine.replay(bench, base, *COMPARED)
    slow = work / "gpt_slow.json"
    machine.replay(bench, slow, *COMPARED, "--slow", f"matmul:{PLANTED_PERCENT}")
    _compare(machine, findings, base, slow, "a slow-down of products", "SLOWER")
    if machine.device != "cuda":
        return
    reports = {}
    for switch in ("0", "1"):
        reports[switch] = work / f"spans_tf32_{switch}.json"
        machine.replay(work / "spans.et", reports[switch], *COMPARED,
                       environment={"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": switch})
    _compare(machine, findings, reports["0"], reports["1"], "TF32 switched on", "FASTER")


def _compare(machine, findings, base, new, what, verdict):
    """Returns the verdict on products. compare ends with 1 if something is slower, so its status is ignored."""
    done = machine.start(machine.program("compare"), base, new, "--format", "json")
    try:
        rows = json.loads(done.stdout)["rows"]
    except (ValueError, KeyError):
        findings.expect(what, False, verdict, (done.stderr or done.stdout).strip()[-200:])
        return
    row = next((row for row in rows if (row["kind"], row["name"]) == ("class", "matmul")), None)
    if row is None:
        findings.expect(what, False, verdict, "no class matmul")
        return
    findings.figures[what.replace(" ", "_") + "_ratio"] = (row["ratio"] or {}).get("value")
    findings.expect(what, row["verdict"] == verdict, verdict, f"{row['verdict']} {row['why']}".strip())


def memory(machine, findings, work):
    bench_of(work)
    rank = json.loads((work / "gpt.rank.json").read_text(encoding="utf-8"))
    report = json.loads((work / "gpt.json").read_text(encoding="utf-8"))
    gpu = report["ranks"][0].get("gpu") or {}
    if machine.device == "cuda":
        original, replayed = rank["peak_device_bytes"], gpu["memory"]["peak_bytes"]
    else:
        original, replayed = rank["peak_tensor_bytes"], report["memory"]["peak_bytes"]
        if original is None:
            raise NotRun("the counting allocator is not built: original and replay have no common figure")
    findings.figures.update({"original_peak_bytes": original, "replay_peak_bytes": replayed})
    findings.within("peak, bytes", replayed, original, MEMORY_SHARE)
    if rank["step_device_allocations"]:
        findings.figures["original_allocations"] = statistics.median(rank["step_device_allocations"])
        findings.figures["replay_allocations"] = \
            gpu["memory"]["allocations"] / len(report["iteration_ms"]["samples"])
