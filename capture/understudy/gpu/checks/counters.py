"""Compares hardware counters with work that is known: by arithmetic, by Nsight Compute, by the original step."""

import csv
import shutil

from ..layout import PROGRAMS
from ..machine import NotRun
from .gpt import bench_of

SHARE = 0.05
SIDE = 8192
COPIED_BYTES = 4 << 30
ITERATIONS = ["--warmup", 2, "--iterations", 3, "--passes", 2, "--counters", "default"]
DRAM = "dram__bytes_read.sum,dram__bytes_write.sum"
# Depends on what else runs on the card, or on the host's speed.
NOT_ALIKE = ("pcie_bytes", "cpu_ms", "minor_faults", "major_faults", "involuntary_switches", "instructions", "cycles",
             "ipc", "cache_misses", "host_dram_bytes")


def _counted(report, findings):
    """Keeps what the sources say and counted. Raises NotRun with CUPTI's line if it counted nothing."""
    sources = report["counter_sources"]
    findings.figures.update({**{f"source {name}": state for name, state in sources.items()}, **report["counters"]})
    if sources["cupti"] != "counted":
        raise NotRun(f"CUPTI: {sources['cupti']}")
    return {row["name"]: row for row in report["operators"]}


def known(machine, findings, work):
    """A product and a copy, whose operations and bytes are known."""
    machine.capture(PROGRAMS / "spans.py", work / "spans", "--warmup", 2, "--timed", 5, "--profiled", 1)
    bench = machine.generate(work / "spans", work / "spans.et")
    rows = _counted(machine.replay(bench, work / "spans_counted.json", *ITERATIONS), findings)
    findings.within("operations of the product", rows["aten::matmul"]["counters"]["tensor_flop"], 2 * SIDE ** 3, SHARE)
    copied = rows["aten::copy_"]["counters"]["dram_bytes"]
    findings.within("bytes that a copy reads and writes", copied, 2 * COPIED_BYTES, SHARE)
    if shutil.which("ncu"):
        said = machine.run("ncu", "--csv", "--page", "raw", "--print-units", "base", "--target-processes", "all", "--metrics", DRAM,
                           machine.program("replay"), bench, "--device", "cuda", "--warmup", 0, "--iterations", 1, "--passes", 1).stdout
        lines = said.splitlines()
        table = csv.DictReader(lines[next(i for i, line in enumerate(lines) if line.startswith('"ID"')):])
        next(table)  # units
        most = max(sum(float(row[name].replace(",", "")) for name in DRAM.split(",")) for row in table)
        findings.within("the same bytes by ncu", copied, most, SHARE)


def alike(machine, findings, work):
    """The original GPT's step and its replay, under the same counters."""
    bench_of(work)
    report = machine.replay(work / "gpt.et", work / "gpt_counted.json", *ITERATIONS)
    _counted(report, findings)
    original = report["original"].get("counters", {})
    findings.expect("the original has counters", original, "some", "none")
    for name in sorted({*original} & {*report["counters"]}):
        findings.figures[f"original {name}"] = original[name]
        if name not in NOT_ALIKE:
            findings.within(name, report["counters"][name], original[name], SHARE)
