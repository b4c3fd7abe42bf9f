"""Capture one training step of a PyTorch program, and the times of the steps before it.

    from understudy_capture import capture

    with capture("captures/mine") as c:
        for batch in loader:
            train(batch)
            c.step()                # ends a step; returns False once the capture is whole

The steps are, in this order: `warmup` steps; `timed` steps with nothing attached, whose times are
the ground truth for a replay; one step that wakes the profiler up and is thrown away; `profiled`
steps under the Kineto profiler alone, in one profile; one step whose index values are looked at
(indices.py); one step under the execution trace observer and Kineto together;
FAULT_STEPS under a profiler that counts page faults, where there is no GPU. A loop that ends before
these does without them.
Everything before the next call of step(), so the loading of the next batch too, is part of a step.
docs/capture.md says what is written and what to watch for.
"""

from __future__ import annotations

import contextlib
import ctypes
import gzip
import json
import os
import re
import shutil
import statistics
import time
from pathlib import Path

import torch
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile, record_function

from . import machine
from .census import Census
from .indices import IndexRecorder
from .host_probe import load_host_probe
from .observer import fault_counting, observer_cost

CAPTURE_FORMAT = "understudy-capture"
CAPTURE_VERSION = 1
LEAST_OBSERVED = 0.5  # of the profile's events in the trace of the same step; Gloo's may differ
FAULT_STEPS = 4  # at the end; the first lets the heap settle and is not marked
TENSOR_RANGE_SWITCH = "ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_RANGE"


class IncompleteCapture(RuntimeError):
    """The training loop ended before the capture had the steps that it needs."""


class CaptureDone(BaseException):
    """Ends a script whose capture is whole; not an Exception, so that no script swallows it."""


class Capture:
    """Drives the phases of one capture; use it through capture(), capture_step() or step()."""

    def __init__(self, out_dir, *, warmup=3, timed=10, profiled=5, trace=True, indices=True,
                 count_faults=True, tensor_range=True, step_marker=True, stop_when_done=False,
                 allocations=None, yardstick=None):
        """
        out_dir       folder to write to; made if it is not there
        warmup        steps that are run and not looked at
        timed         steps that are timed with nothing attached
        profiled      steps that are profiled without the observer (their times are the honest ones)
        count_faults  profile FAULT_STEPS more that count page faults by operator, where there is no
                      GPU, the system lets a process count them and the loop goes on
        trace         record the execution trace; without it only times are taken
        indices       record how index values come again, in a step of its own before the trace
        tensor_range  record minimum and maximum of integer inputs (attribute tensor_range)
        step_marker   wrap a profiled step in a `ProfilerStep#N` label, as a profiler schedule does
        allocations   the counting allocator (libunderstudy_allocations.so), see count_allocations()
        yardstick     measures the machine before timed and profiled steps, see load_yardstick()
        stop_when_done  raise CaptureDone out of the step() that ends the last step
        """
        if min(warmup, timed, profiled) < 0:
            raise ValueError("warmup, timed and profiled must not be negative, "
                             f"got {warmup}, {timed} and {profiled}")
        if not trace and timed + profiled == 0:
            raise ValueError("nothing to capture: no trace, no timed and no profiled steps")
        self.out_dir = Path(out_dir)
        self.tensor_range = tensor_range
        self.step_marker = step_marker
        self.stop_when_done = stop_when_done
        self._allocations = allocations
        self._peak_tensor_bytes = None
        self._untouched_bytes = None
        self._yardstick = yardstick
        self._phases = ["warmup"] * warmup + ["timed"] * timed
        if profiled:
            self._phases += ["profiler_warmup"] + ["kineto_only"] * profiled
        if trace:
            self._phases += (["indices"] if indices else []) + ["et"]
        self._counting = fault_counting() if profiled and count_faults else None
        if self._counting:
            self._phases += ["faults"] * FAULT_STEPS
        self._nodes = 0  # of the trace
        self._index = None  # None: the first step has not begun
        self._times = {phase: [] for phase in self._phases}
        self._peak_rss = None
        self._faults = {phase: [] for phase in self._phases}
        self._yardstick_ms = {"timed": [], "kineto_only": []}
        self._probe = None  # made with the first step
        self._probe_us = {"timed": [], "kineto_only": [], "et": []}
        self._timed_cpu_ns = 0
        self._targets = []  # files packed so far
        self._profile = contextlib.ExitStack()  # the profile of all steps of a phase
        self._exports = []  # of profiles that are over; writing one changes later steps' heap
        self._open = contextlib.ExitStack()  # what the current step has switched on by itself

    @property
    def steps_needed(self):
        return sum(phase != "faults" for phase in self._phases)

    @property
    def steps_seen(self):
        return self._index or 0

    @property
    def done(self):
        return self._index is not None and self._index >= len(self._phases)

    def __enter__(self):
        self._begin_capture()
        return self

    def __exit__(self, kind, error, traceback):
        if kind is None:
            self.close()
        else:
            self.abandon()

    def step(self):
        """Ends the current step and begins the next. True while more steps are wanted."""
        if self.done:
            return False
        if self._index is None:
            # Without a `with`, nobody knows where the first step began: this starts the count.
            self._begin_capture()
            return True
        phase = self._phases[self._index]
        now = self._clock()
        self._open.close()
        self._times[phase].append(now - self._started)
        self._faults[phase].append(machine.minor_faults() - self._faults_at_start)
        if phase == "timed":
            self._timed_cpu_ns += time.process_time_ns() - self._cpu_at_start
            if self._allocations is not None:
                self._peak_tensor_bytes = max(self._peak_tensor_bytes or 0,
                                              self._allocations.understudy_peak_bytes())
        self._index += 1
        if self.done or self._phases[self._index] != phase:
            self._profile.close()
        if self.done:
            self._finish()
            if self.stop_when_done:
                raise CaptureDone
            return False
        self._begin_step()
        return True

    def close(self):
        """Checks that the capture is whole; raises IncompleteCapture if it is not."""
        if self.done:
            return
        if self._index is not None and self._phases[self._index] == "faults":
            self._close_without_faults()
            return
        self.abandon()
        raise IncompleteCapture(
            f"the loop ended after {self.steps_seen} of the {self.steps_needed} steps that the "
            "capture needs; make it longer, or ask for fewer warm-up or timed steps")

    def _close_without_faults(self):
        """The loop has ended in the steps that count faults: all else is there."""
        self._open.close()
        self._profile.close()
        self._exports.pop()
        self._faults["faults"] = []
        self._index = len(self._phases)
        self._finish()

    def _begin_capture(self):
        self.out_dir.mkdir(parents=True, exist_ok=True)
        self._probe = self._probe or load_host_probe()
        self._rss_at_start = machine.current_rss()
        self._index = 0
        self._begin_step()

    def _begin_step(self):
        phase = self._phases[self._index]
        if phase not in ("warmup", "timed") and self._peak_rss is None:
            self._peak_rss = machine.peak_rss()  # before the profilers add their own
        is_first = self._index == 0 or self._phases[self._index - 1] != phase
        if phase == "profiler_warmup":
            self._open.enter_context(_kineto())
        elif phase == "kineto_only" and is_first:
            self._enter_profile("kineto_only", None)
        elif phase == "faults" and is_first:
            self._enter_profile("faults", None, self._counting)
        elif phase == "indices":
            self._enter_index_recorder()
        elif phase == "et":
            self._enter_profile("kineto", self._enter_observer())
        if self._probe is not None and phase in self._probe_us:
            self._probe_us[phase].append(self._probe())
        if self._yardstick is not None and phase in self._yardstick_ms:
            self._yardstick_ms[phase].append(self._yardstick())
        settles = phase == "faults" and is_first
        if phase in ("kineto_only", "faults", "et") and self.step_marker and not settles:
            self._open.callback(_synchronize)  # device work of the step belongs to its marker
            self._open.enter_context(record_function(f"ProfilerStep#{self._index}"))
        if self._allocations is not None:
            self._allocations.understudy_reset_peak()
        self._faults_at_start = machine.minor_faults()
        self._cpu_at_start = time.process_time_ns()
        self._started = self._clock()

    def _enter_index_recorder(self):
        """Closing writes what the step's index values are like, where it had any."""
        target = self._path("indices")
        raw = _beside(target, ".raw")
        recorder = IndexRecorder()
        census = Census()

        def write():
            self._untouched_bytes = census.untouched_bytes(recorder.touched)
            if recorder.saw_integer_wrapper:
                # The observer would ask such a tensor for its minimum, and its class would
                # communicate for it, or fail, which ends the observer.
                self.tensor_range = False
            document = recorder.document(_rank())
            if any(document[kind] for kind in ("uses", "zeros", "sparse")):
                raw.write_text(json.dumps(document), encoding="utf-8")
                self._keep(raw, target)

        self._open.callback(write)
        self._open.enter_context(recorder)

    def _enter_observer(self):
        """Registers the observer; closing writes the trace, after the profile has stopped it."""
        target = self._path("et")
        raw = _beside(target, ".raw")
        observer = ExecutionTraceObserver()
        with _environment(TENSOR_RANGE_SWITCH, "1" if self.tensor_range else None):
            observer.register_callback(str(raw))
        self._profile.callback(self._keep, raw, target)
        self._profile.callback(self._count_nodes, raw)
        self._profile.callback(observer.unregister_callback)
        return observer

    def _enter_profile(self, kind, observer, config=None):
        target = self._path(kind)
        raw = _beside(target, ".raw")
        profiler = _kineto(observer, config)

        def export():
            profiler.export_chrome_trace(str(raw))
            # The profiler writes down where it was told to write: a path of this machine.
            text = raw.read_text(encoding="utf-8", errors="surrogateescape")
            text = re.sub(r'"traceName": "[^"]*"', f'"traceName": "{target.name}"', text)
            raw.write_text(text, encoding="utf-8", errors="surrogateescape")
            if observer is not None:
                self._check_observed(text.count('"Record function id"'))
            self._keep(raw, target)

        self._profile.callback(self._exports.append, export)
        self._profile.enter_context(profiler)
        self._profile.callback(_synchronize)

    def _path(self, kind):
        return self.out_dir / f"rank-{_rank()}.{kind}.json.gz"

    def _keep(self, raw, target):
        """Packs what a profiler wrote; the file gets its name once the whole capture is there."""
        if not raw.exists():
            raise RuntimeError(f"{target.name}: the profiler wrote no file; "
                               "is another execution trace observer active in this process?")
        # No name and no time in the gzip header: equal content gives equal bytes.
        with open(raw, "rb") as source, open(_beside(target, ".partial"), "wb") as sink, \
                gzip.GzipFile(filename="", mode="wb", fileobj=sink, mtime=0) as zipped:
            shutil.copyfileobj(source, zipped)
        raw.unlink()
        self._targets.append(target)

    def _count_nodes(self, raw):
        if raw.exists():
            text = raw.read_text(encoding="utf-8", errors="surrogateescape")
            self._nodes = text.count('"name": "rf_id"')

    def _check_observed(self, events):
        """An observer that meets an error says so on stderr, and loses what follows."""
        if self._nodes < LEAST_OBSERVED * events:
            raise RuntimeError(
                f"the execution trace has {self._nodes} nodes of a step of {events} events: its "
                "observer met an error, see above; if that is about a minimum or an item, capture "
                "with tensor_range=False (--no-tensor-range)")

    def abandon(self):
        """Stops everything and leaves nothing of this capture behind."""
        if self._index is None or self.done:
            return
        with contextlib.suppress(Exception):
            self._open.close()
            self._profile.close()
        for kind in ("et", "kineto", "kineto_only", "faults", "indices"):
            for suffix in (".raw", ".partial"):
                _beside(self._path(kind), suffix).unlink(missing_ok=True)

    def _clock(self):
        _synchronize()
        return time.perf_counter_ns()

    def _finish(self):
        for export in self._exports:
            export()
        for target in self._targets:
            _beside(target, ".partial").replace(target)
        mine = {
            "rank": _rank(),
            "files": sorted(target.name for target in self._targets),
            "step_ns": self._times.get("timed", []),
            "warmup_step_ns": self._times.get("warmup", []),
            "kineto_only_step_ns": _median(self._times.get("kineto_only")),
            "kineto_only_steps_ns": self._times.get("kineto_only", []),
            "et_step_ns": (self._times.get("et") or [None])[0],
            "observer_ns": observer_cost("et" in self._times) if self._targets else None,
            "cpu_ns_in_timed_steps": self._timed_cpu_ns,
            "step_minor_faults": self._faults.get("timed", []),
            "kineto_only_minor_faults": self._faults.get("kineto_only", []),
            "step_yardstick_ms": self._yardstick_ms["timed"],
            "kineto_only_yardstick_ms": self._yardstick_ms["kineto_only"],
            "host_probe": self._probe and {
                "kind": self._probe.kind,
                **{f"{phase}_us": times for phase, times in self._probe_us.items()}},
            "counted_minor_faults": self._faults.get("faults", [])[1:],
            "rss_at_start_bytes": self._rss_at_start,
            "peak_rss_bytes": self._peak_rss,
            "peak_device_bytes": machine.peak_device_bytes(),
            "peak_tensor_bytes": self._peak_tensor_bytes,
            "untouched_tensor_bytes": self._untouched_bytes,
            "process_groups": _process_groups(),
            "environment": machine.describe_environment(),
        }
        ranks = [mine]
        if _distributed():
            ranks = [None] * _world_size() if _rank() == 0 else None
            torch.distributed.gather_object(mine, ranks, dst=0)
        if _rank() != 0:
            return
        summary = {
            "format": CAPTURE_FORMAT,
            "version": CAPTURE_VERSION,
            "world_size": _world_size(),
            "clock": "monotonic",
            "tensor_range": self.tensor_range,
            "step_marker": self.step_marker,
            "ranks": ranks,
        }
        target = self.out_dir / "capture.json"
        partial = _beside(target, ".partial")
        partial.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
        partial.replace(target)


def capture(out_dir, **options):
    """A Capture to use as a context manager; the options are those of Capture."""
    return Capture(out_dir, **options)


def capture_step(step_fn, out_dir, **options):
    """Calls step_fn() as often as the capture needs; returns the Capture."""
    with capture(out_dir, **options) as c:
        while not c.done:
            step_fn()
            c.step()
    return c


def count_allocations(library):
    """Counts the bytes of live tensors from here on, with the replay's own allocator.

    library: libunderstudy_allocations.so, built against the torch that runs here. To be called
    before the first tensor is made; tensors that are older do not count.
    """
    native = ctypes.CDLL(str(library))
    native.understudy_peak_bytes.restype = ctypes.c_uint64
    native.understudy_count_allocations()
    return native


def load_yardstick(library):
    """Times a fixed piece of work in ms, as the replay does: a function without arguments.

    library: libunderstudy_yardstick.so, built against the torch that runs here.
    """
    native = ctypes.CDLL(str(library))
    native.understudy_yardstick_ms.restype = ctypes.c_double
    return native.understudy_yardstick_ms


def _kineto(observer=None, config=None):
    activities = [ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(ProfilerActivity.CUDA)
    # Beside the trace also when memory came and went: what holds a tensor is not in the trace.
    return profile(activities=activities, execution_trace_observer=observer, acc_events=True,
                   profile_memory=observer is not None, experimental_config=config)


def _beside(target, suffix):
    return target.with_name("." + target.name + suffix)


@contextlib.contextmanager
def _environment(name, value):
    """Sets (or, with None, unsets) an environment variable for a while."""
    before = os.environ.pop(name, None)
    if value is not None:
        os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before


def _median(times):
    return int(statistics.median(times)) if times else None


def _synchronize():
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _distributed():
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def _rank():
    return torch.distributed.get_rank() if _distributed() else 0


def _world_size():
    return torch.distributed.get_world_size() if _distributed() else 1


def _process_groups():
    return torch.distributed.distributed_c10d._world.pg_config_info if _distributed() else []
