"""Writes the compressed files of torch's profiler and its execution trace observer."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import shutil
import warnings
from collections import Counter

import torch
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile

from . import job
from .compiled import REGION, graph_modules
from .machine import uses_gpu
from .threads import settings
from .triton_kernels import LAUNCHES

COMPRESSION = 6  # gzip's own default; Python's, 9, takes three times as long for a fourteenth fewer bytes
LEAST_OBSERVED = 0.5  # least share of the profile's events in the trace of the same step; Gloo's may differ
BLOCK_BYTES = 1 << 20  # of a profile, read at once
HEADER_BYTES = 4096  # read from a trace's start, before its nodes
OPERATOR = re.compile(r'"name": "(\w+::\w+)"')  # alone: torch 2.15 writes each field on a line
TENSOR_RANGE_SWITCH = "ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_RANGE"


# Metrics of CUPTI's range profiler; docs/metrics.md, "Counters", names what follows from them.
METRICS = ("gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum",
           "sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "sm__warps_active.avg.pct_of_peak_sustained_active",
           "kineto__cuda_core_flops", "kineto__tensor_core_insts")


class Records:
    """The files of one rank: a trace, and a profile for each phase with one."""

    def __init__(self, output):
        self._output = output
        self.targets = []  # files packed so far
        self.mark = None  # id of the trace in its header
        self.regions = {}  # "kineto_only", "et" → compiled regions a step
        self.operators = {}  # "kineto_only", "kineto" → number of calls by operator
        self.nodes = 0  # number of nodes in the trace
        self.counted_kernels = 0  # kernels with hardware counters
        self.all_threads = False  # profiles show all threads, not only the loop's
        self.facts = {}  # what profiles say of themselves: key → value
        self._profile = contextlib.ExitStack()  # the profile of all steps of a phase
        self._exports = []  # exports of ended profiles; writing one changes later steps' heap

    def path(self, kind):
        return self._output.file(f"rank-{job.rank()}.{kind}.json.gz")

    def keep(self, raw, target, take=None):
        """Compresses a profiler's file: unchanged, or with `take` applied to its lines, many at once."""
        if not raw.exists():
            raise RuntimeError(f"{target.name}: the profiler wrote no file; "
                               "is another execution trace observer active in this process?")
        # The gzip header has no name or time: equal content gives equal bytes.
        with open(raw, "rb") as source, open(target, "wb") as sink, \
                gzip.GzipFile(filename="", mode="wb", compresslevel=COMPRESSION, fileobj=sink, mtime=0) as zipped:
            if take is None:
                shutil.copyfileobj(source, zipped)
            else:
                while lines := source.readlines(BLOCK_BYTES):
                    zipped.write(take(b"".join(lines).decode(errors="surrogateescape")).encode(errors="surrogateescape"))
        raw.unlink()
        self.targets.append(target)

    def keep_document(self, kind, document):
        target = self.path(kind)
        raw = beside(target, ".raw")
        raw.write_text(json.dumps(document), encoding="utf-8")
        self.keep(raw, target)

    def begin_trace(self, tensor_range, shapes):
        """Registers the observer together with a profile, which also has operators' arguments if `shapes` is set. end() writes the
        trace, after the profile has stopped the observer."""
        target = self.path("et")
        raw = beside(target, ".raw")
        observer = ExecutionTraceObserver()
        with _environment(TENSOR_RANGE_SWITCH, "1" if tensor_range else None):
            observer.register_callback(str(raw))
        self._profile.callback(self.keep, raw, target)
        self._profile.callback(self._count_nodes, raw)
        self._profile.callback(observer.unregister_callback)
        self.begin_profile("kineto", observer=observer, shapes=shapes)

    def begin_profile(self, kind, steps=1, observer=None, counts_faults=False, shapes=False, metrics=()):
        """Profiles until end(); write_profiles() writes the profile."""
        target = self.path(kind)
        raw = beside(target, ".raw")
        profiler = kineto(settings(counts_faults, self.all_threads, metrics), observer, shapes)

        def write():
            profiler.export_chrome_trace(str(raw))

        def export():
            if not raw.exists():
                write()
            counts = Counter()
            operators = self.operators[kind] = Counter()

            def take(lines):
                counts["observed"] += lines.count('"Record function id"')
                counts["counted"] += lines.count('"cuda_profiler_range"')
                counts["regions"] += lines.count(f'"name": "{REGION}')
                operators.update(OPERATOR.findall(lines))
                # The profiler writes its output path, a path of this machine.
                return re.sub(r'"traceName": "[^"]*"', f'"traceName": "{target.name}"', lines)

            self.keep(raw, target, take)
            if metrics:
                self.counted_kernels = counts["counted"]
                if not self.counted_kernels:
                    self.targets.pop().unlink()
            if observer is not None:
                self.check_observed(counts["observed"])
            if kind == "kineto_only":
                self.regions[kind] = counts["regions"] // steps

        self._profile.callback(self._exports.append, export)
        if torch.cuda.is_available():
            # A later profiler session frees CUPTI's records of this one: device events would be written with time 0.
            self._profile.callback(write)
        self._profile.enter_context(profiler)
        for key, value in self.facts.items():
            profiler.add_metadata_json(key, json.dumps(value))
        self._profile.callback(synchronize)

    def end(self):
        """Ends the profile and the trace of the phase, if any."""
        self._profile.close()

    def abandon_profile(self):
        """Forgets a profile whose profiler did not start."""
        self._profile = contextlib.ExitStack()

    def forget_last_profile(self):
        self._exports.pop()

    def write_profiles(self):
        for export in self._exports:
            export()

    def _count_nodes(self, raw):
        if raw.exists():
            self.regions["et"] = 0
            with open(raw, encoding="utf-8", errors="surrogateescape") as file:
                header = re.search(r'"pid": (\d+), .*?"start_ts": (\d+)', file.read(HEADER_BYTES), re.DOTALL)
                self.mark = header and {"pid": int(header[1]), "start_ts": int(header[2])}
                file.seek(0)
                for line in file:
                    self.nodes += line.count('"name": "rf_id"')
                    self.regions["et"] += line.count(f'"name": "{REGION}')

    def check_observed(self, events):
        """Raises an error if the trace has too few nodes: after an error the observer only prints to stderr and loses the rest."""
        if self.nodes < LEAST_OBSERVED * events:
            raise RuntimeError(
                f"the execution trace has {self.nodes} nodes of a step of {events} events: its "
                "observer met an error, see above; if that is about a minimum or an item, capture "
                "with tensor_range=False (--no-tensor-range)")


def kineto(config=None, observer=None, shapes=False):
    activities = [ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(ProfilerActivity.CUDA)
    # With a trace, memory events are recorded as well: the trace does not show when a tensor is freed. Kernels of compiled graphs and of
    # Triton show their arguments only with shapes.
    has_kernels = bool(graph_modules()) or LAUNCHES.may_follow()
    warnings.filterwarnings("ignore", "Warning: Profiler clears events")  # of the first cycle, too, by older releases of torch
    return profile(activities=activities, execution_trace_observer=observer,
                   profile_memory=observer is not None,
                   record_shapes=shapes or (observer is not None and has_kernels),
                   experimental_config=config)


def beside(target, suffix):
    return target.with_name("." + target.name + suffix)


@contextlib.contextmanager
def _environment(name, value):
    """Sets an environment variable temporarily, or unsets it with None."""
    before = os.environ.pop(name, None)
    if value is not None:
        os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before


def synchronize():
    if uses_gpu():
        torch.cuda.synchronize()
