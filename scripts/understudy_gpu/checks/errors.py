"""Checks whether errors of a device are reported, and whether they persist."""

import subprocess

import torch

from ..layout import SAMPLES

OUT_OF_RANGE = """
import sys, torch
device = sys.argv[1]
table = torch.zeros(10, device=device)
try:
    table[torch.tensor([100], device=device)].cpu()
except (IndexError, RuntimeError) as problem:
    print("told:", type(problem).__name__, str(problem).splitlines()[0])
else:
    print("not told")
"""
LEAST_REPLAY = ["--warmup", 0, "--iterations", 2, "--passes", 1]
MEMORY_LIMIT_BYTES = 1 << 20


def index(machine, findings, work):
    done = subprocess.run([machine.python, "-c", OUT_OF_RANGE, machine.device], capture_output=True,
                          text=True)
    said = next((line for line in done.stdout.splitlines() if "told" in line), "nothing")
    findings.figures["it_said"] = said.removeprefix("told: ")
    findings.expect("an index out of range is told", said.startswith("told:"), "an error", said)
    bench = machine.generate(SAMPLES / "mlp", work / "after_index.et")
    report = machine.replay(bench, work / "after_index.json", *LEAST_REPLAY)
    findings.expect("another process runs after it", report["coverage"]["count"] == 1, "coverage 1",
                    report["coverage"]["count"])


def exhaustion(machine, findings, work):
    device = machine.device
    wanted = torch.cuda.get_device_properties(0).total_memory * 2 if device == "cuda" else 1 << 60
    torch.zeros(1, device=device)
    try:
        torch.empty(wanted, dtype=torch.uint8, device=device)
        told = "no error"
    except RuntimeError as problem:  # torch.OutOfMemoryError is one
        told = next((line for line in str(problem).split(". ") if "memory" in line), str(problem))
        told = told.splitlines()[0]
    findings.figures["it_said"] = told
    findings.expect("out of memory is told", "memory" in told, "an error", told)
    try:
        torch.ones(4, device=device).add_(1)
        if device == "cuda":
            torch.cuda.synchronize()
        after = "it runs"
    except RuntimeError as problem:
        after = "the error stays: " + str(problem).splitlines()[0]
    findings.expect("an operator after it", after == "it runs", "it runs", after)
    bench = machine.generate(SAMPLES / "mlp", work / "limited.et")
    done = machine.start(machine.bin / "replay", bench, "--device", device, *LEAST_REPLAY,
                         "--memory-limit", MEMORY_LIMIT_BYTES)
    findings.expect("a replay under --memory-limit", done.returncode == 1 and "memory" in done.stderr,
                    "status 1 and a message about memory",
                    f"status {done.returncode}: {done.stderr.strip()[:100]}")
