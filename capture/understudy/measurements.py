"""Measurements around the steps of a capture: times, page faults, the speed probe, peaks of memory."""

from __future__ import annotations

import statistics
import time

from . import machine
from .phases import UNWATCHED
from .records import synchronize


def clock():
    synchronize()
    return time.perf_counter_ns()


def clock_alone():
    """Returns the time now, without waiting for the device."""
    return time.perf_counter_ns()


class Measurements:
    """The measurements of one rank. For each step: note_peak_rss(), probe(), begin(), end()."""

    def __init__(self, phases, allocations, speed_probe):
        self._times = {phase: [] for phase in (*phases, "passed")}
        self._faults = {phase: [] for phase in self._times}
        self._allocations = allocations
        self._speed_probe = speed_probe
        self._speed_probe_ms = {"timed": [], "kineto_only": []}
        self._timed_cpu_ns = []
        self.timed_wait_ns = []  # for a CPU; None: not known
        self._free_since = None
        self._free_ns = 0
        self._free_steps = 0
        self._allocation_counts = []  # counts of CUDA's allocator, by timed step
        self._rss_at_start = None
        self._peak_rss = None
        self._peak_tensor_bytes = 0
        self._peak_device_bytes = 0

    def begin_capture(self):
        self._rss_at_start = machine.current_rss()

    def note_peak_rss(self, phase):
        """Must be called before profilers start, which add their own memory."""
        if phase not in UNWATCHED and self._peak_rss is None:
            self._peak_rss = machine.peak_rss()

    def probe(self, phase):
        """Measures the machine just before a step."""
        if self._speed_probe is not None and phase in self._speed_probe_ms:
            self._speed_probe_ms[phase].append(self._speed_probe())

    def begin(self, phase):
        if phase == "free":
            self._free_since = self._free_since or clock()
            return
        if self._allocations is not None:
            self._allocations.understudy_reset_peak()
        if phase == "timed":
            machine.reset_device_peak()
        self._faults_at_start = machine.minor_faults()
        self._wait_at_start = machine.cpu_wait_ns()
        self._cpu_at_start = time.process_time_ns()
        self._allocated_at_start = machine.device_allocations()
        self._started = clock()

    def end(self, phase, now):
        """`now` is the clock() at the step's end, before its observers were closed."""
        if phase == "free":
            self._free_ns = now - self._free_since
            self._free_steps += 1
            return
        self._times[phase].append(now - self._started)
        self._faults[phase].append(machine.minor_faults() - self._faults_at_start)
        if phase == "timed":
            self._timed_cpu_ns.append(time.process_time_ns() - self._cpu_at_start)
            waited = machine.cpu_wait_ns()
            self.timed_wait_ns.append(None if None in (waited, self._wait_at_start) else max(0, waited - self._wait_at_start))
            self._allocation_counts.append(machine.device_allocations() - self._allocated_at_start)
            if self._allocations is not None:
                self._peak_tensor_bytes = max(self._peak_tensor_bytes, self._allocations.understudy_peak_bytes())
            # Building the model and observing later steps take more memory.
            self._peak_device_bytes = max(self._peak_device_bytes, machine.peak_device_bytes())

    @property
    def timed_ns(self):
        return self._times["timed"]

    def keep_timed(self, count):
        """Drops the timed steps before the last `count`."""
        for measured in (self._times["timed"], self._faults["timed"], self._speed_probe_ms["timed"],
                         self._timed_cpu_ns, self.timed_wait_ns, self._allocation_counts):
            del measured[:-count]

    def forget_faults(self):
        """Drops the steps that count page faults, because some of them are missing."""
        self._faults["faults"] = []

    def describe(self):
        """Returns the keys that the measurements add to capture.json."""
        return {
            "step_ns": self._times.get("timed", []),
            "free_step_ns": self._free_ns / self._free_steps if self._free_steps else None,
            "step_device_allocations": self._allocation_counts if machine.uses_gpu() else None,
            "warmup_step_ns": self._times.get("warmup", []),
            "kineto_only_step_ns": _median(self._times.get("kineto_only")),
            "kineto_only_steps_ns": self._times.get("kineto_only", []),
            "et_step_ns": (self._times.get("et") or [None])[0],
            "cpu_ns_in_timed_steps": sum(self._timed_cpu_ns),
            "step_cpu_wait_ns": self.timed_wait_ns,
            "step_minor_faults": self._faults.get("timed", []),
            "kineto_only_minor_faults": self._faults.get("kineto_only", []),
            "step_speed_probe_ms": self._speed_probe_ms["timed"],
            "kineto_only_speed_probe_ms": self._speed_probe_ms["kineto_only"],
            "counted_minor_faults": self._faults.get("faults", [])[1:],
            "rss_at_start_bytes": self._rss_at_start,
            "peak_rss_bytes": self._peak_rss,
            "peak_device_bytes": self._peak_device_bytes or machine.peak_device_bytes() or None,
            "peak_tensor_bytes": self._peak_tensor_bytes or None,
        }


def _median(times):
    return int(statistics.median(times)) if times else None
