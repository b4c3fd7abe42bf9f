"""What stand-ins for replays write into reports beside what they measure: every key of docs/formats.md, "report.json", without
a finding."""

import copy

_PACE_COUNTS = ("paced", "on_time", "unready", "late", "own_threads", "device_waits")
_PACE_FIGURES = ("error_median_us", "error_p99_us", "unready_ms", "late_ms", "drift_median_us", "drift_p99_us", "drift_end_us",
                 "device_wait_recorded_ms", "device_wait_ms")  # fmt: skip
_FIGURES = {
    "complete": True,
    "values": {"nan": 0, "inf": 0, "subnormal": 0, "recorded_inf": 0},
    "memory": {"peak_bytes": 1, "live_peak_bytes": 1, "external_bytes": 1},
    "pace": {"mode": "asap", **dict.fromkeys(_PACE_COUNTS, 0), **dict.fromkeys(_PACE_FIGURES)},
    "counters": {},
    "measurement": {"ended_by": "iterations", "until_percent": None, "timing_passes": 30, "restores": 0, "restore_every": 16,
                    "restore_reason": "", "foreign_cpus": None},  # fmt: skip
    "original": {"step_ms": None, "operators_ms": None, "unprofiled_ms": None},
    "gap_samples_ms": [],
    "speed_probe_samples_ms": [],
    "iteration_speed_probe_samples_ms": [],
    "host_overhead_ns_per_operator": None,
    "host_overhead_resolution_ns": None,
    "losses": {},
    "mismatches": [],
    "value_findings": [],
    "collectives": [],
    "startup_ms": 1.0,
    "first_iteration_ms": 1.0,
}


def figures(count, quantiles, samples, **measured):
    """A rank's, or a job's, of so many operators; `samples`: times of iterations, `quantiles`: "min" to "p99" of them."""
    nothing = {"substituted": [], "stubbed": [], "dropped": [], "not_applicable": [], "pinned_outputs": []}
    return {
        **copy.deepcopy(_FIGURES),
        "iteration_ms": {**quantiles, "median_low": None, "median_high": None, "samples": samples},
        "coverage": {"count": 1.0, "time": None, "substituted_time": None, "dropped_time": None, "other_time": [], "selected": count,
                     "replayed": count, "exact": count, **nothing},  # fmt: skip
        "output_mismatches": 0,
        "outputs_checked": count,
        **measured,
    }


def report(total, filters, environment):
    """Of one rank."""
    about = {"tool_version": "0.1.0", "benchmark": "bench.et", "benchmark_hash": "0123456789abcdef", "date_utc": "2026-01-31T12:00:00Z",
             "device": "cpu", "cpu_model": "A CPU", "cpu_count": 8, "threads": 1, "backend": "single", "hosts": ["node-1"],
             "versions": {"torch": "2.11.0"}, "settings": {}}  # fmt: skip
    return {"format": "understudy-report", "version": 1, "world_size": 1, **total, "filters": filters, "warnings": [],
            "ranks": [{"rank": 0, **total}], "environment": {**about, **environment}}  # fmt: skip
