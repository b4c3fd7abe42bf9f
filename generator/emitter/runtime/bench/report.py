"""Completes report.json, which describes the benchmark, with the measurements of a run."""

import datetime
import json
import os
import platform
from pathlib import Path

import torch

from .tensors import device


def quantile(ordered, share):
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def statistics_of(samples):
    ordered = sorted(samples)
    shares = {"min": 0, "median": 0.5, "p10": 0.1, "p90": 0.9, "p99": 0.99}
    return {**{key: quantile(ordered, share) for key, share in shares.items()}, "median_low": None, "median_high": None,
            "samples": samples}


def add_measured(part, ranks):
    """Adds measurements to a part of the report. `ranks`: one rank for its own part, all ranks for the job's part (the slowest counts)."""
    part["iteration_ms"] = statistics_of([max(times) for times in zip(*(rank["samples"] for rank in ranks))])
    for key in ("startup_ms", "first_iteration_ms"):
        part[key] = max(rank[key] for rank in ranks)
    part["counters"]["cpu_ms"] = sum(rank["cpu_ms"] for rank in ranks)
    part["measurement"].update({"ended_by": ranks[0]["ended_by"], "timing_passes": len(ranks[0]["passes"]),
                                "restore_every": ranks[0]["restore_every"]})
    for row in part["operators"]:
        row["samples_ms"] = [max(times.get(row["name"], 0.0) for times in passes) for passes in zip(*(rank["passes"] for rank in ranks))]
        row["ms"] = quantile(sorted(row["samples_ms"]), 0.5) if row["samples_ms"] else None
    part["operators"].sort(key=lambda row: -(row["ms"] or 0))
    replaced = {name: by for rank in ranks for name, by in rank["replaced"].items()}
    counts = {row["name"]: row["count"] for row in part["operators"]}
    added = [{"name": name, "count": counts[name], "note": by} for name, by in replaced.items() if name in counts]
    part["coverage"]["substituted"] += added
    part["coverage"]["exact"] -= sum(row["count"] for row in added)


def write(path, given, ranks):
    """Writes the report. `ranks`: the measurements of each rank."""
    report = json.loads((Path(__file__).parent.parent / "report.json").read_text(encoding="utf-8"))
    add_measured(report, ranks)
    for part, rank in zip(report["ranks"], ranks):
        add_measured(part, [rank])
    if device().type == "meta":
        report["warnings"].append({"figure": "iteration_ms", "text": "the device meta computes nothing: times are the host's alone"})
    report["environment"].update({
        "date_utc": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), "device": str(device()),
        "cpu_model": platform.processor() or platform.machine(), "cpu_count": os.cpu_count(), "threads": torch.get_num_threads(),
        "backend": "single" if len(ranks) == 1 else "torch.distributed", "hosts": [rank["host"] for rank in ranks],
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "settings": {key: str(value) for key, value in vars(given).items() if key not in ("report", "checksums")}})
    Path(path).write_text(json.dumps(report) + "\n", encoding="utf-8")
