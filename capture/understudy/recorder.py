"""Drives the steps of a capture (phases.py) and their observers."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from typing import Any, Callable

import torch
from torch.profiler import record_function

from . import STEADY_S, _kind, job, machine
from .live_tensors import LiveTensors
from .compiled import describe_kernels, graph_modules, kernel_labels
from .comms import check_recorded, reduce_op_labels
from .indices import IndexRecorder
from .kernels import AutocastSeen, kernel_settings
from .measurements import Measurements, clock, clock_alone
from .observer import fault_counting, observer_cost
from .output import CAPTURE_FORMAT, DESCRIPTION, CaptureFailed, OutputFolder, failure_of, text_of
from .notices import of_groups, of_regions, of_steps
from .phases import FAULT_STEPS, UNWATCHED, plan
from .played.command import NOT_HERE
from .records import METRICS, Records, kineto, synchronize
from .settling import Settling
from .summary import summarize
from .threads import counting_own_threads, settings

if torch.distributed.is_available():
    # Its functions hold the process group of the time of their import as a default. If a profiler's start were the first to import them,
    # destroy_process_group() would not end the group's threads, which may then abort the interpreter that shuts down.
    import torch.distributed.nn  # noqa: F401

CAPTURE_VERSION = 1
PROFILED = ("kineto_only", "faults", "counters", "et")
WROTE_NONE = "the profiler wrote none; if it says INSUFFICIENT_PRIVILEGES above, an administrator allows them " \
    "(NVreg_RestrictProfilingToAdminUsers=0)"
MOST_TIMED = 1000  # newest timed steps that are kept after the wait for steady steps
MOST_EVENTS = 1_000_000  # default for a profile's events: some 400 MB of JSON


class IncompleteCapture(CaptureFailed):
    """The training loop ended before the capture had all required steps."""


class EndedUnsteady(IncompleteCapture):
    """The loop ended while the capture waited for steady steps; without the wait it had enough steps."""


class CaptureDone(BaseException):
    """Ends a script whose capture is complete. Not an Exception, so that no script swallows it."""


class Capture:
    """Drives the phases of one capture; use it through capture(), capture_step() or step()."""

    def __init__(self, out_dir, *, warmup=3, timed=10, profiled=5, trace=True, indices=True,
                 count_faults=True, tensor_range=True, step_marker=True, compiled_sources=True,
                 shapes=False, steady_s=0, say=None, free=None, most_events=MOST_EVENTS, stop_when_done=False,
                 counters=False,
                 allocations=None, speed_probe=None):
        """
        out_dir       folder that is written when the capture is complete: new, empty, or an earlier
                      capture, which is replaced; BadOutput otherwise
        warmup        steps that are run and not recorded
        timed         steps that are timed with nothing attached
        steady_s      longest time in seconds to wait for steady steps, which are timed, too. Raises
                      EndedUnsteady if the loop ends during the wait. 0: time only `timed` steps
        say           function that receives lines of progress during this wait
        free          steps that are timed together, without waiting for the device between them:
                      compared with `timed` steps they show the host's lead. None: FREE_STEPS with a GPU
        most_events   limit of events in the profile; if exceeded, fewer steps are profiled
        profiled      steps that are profiled without the observer: operators' times come from these
        count_faults  profile FAULT_STEPS more steps that count page faults by operator, if there is no
                      GPU, the system lets a process count them and the loop continues
        trace         record the execution trace; otherwise only times are recorded
        indices       record how often index values repeat, in a step of its own before the trace
        tensor_range  record minimum and maximum of integer inputs (attribute tensor_range)
        step_marker   wrap a profiled step in a `ProfilerStep#N` label, as a profiler schedule does
        compiled_sources  keep the sources of Triton's kernels, if any
        shapes        the profile of the traced step also records sizes, strides, types and numbers of
                      operators' arguments: enough to make a trace from
        allocations   the counting allocator (libunderstudy_allocations.so), see count_allocations()
        speed_probe   measures the machine before timed and profiled steps, see load_speed_probe()
        counters      count the work of each kernel of one more step with the counters of an NVIDIA GPU
        stop_when_done  raise CaptureDone out of the step() that ends the last step
        """
        if min(warmup, timed, profiled) < 0:
            raise ValueError("warmup, timed and profiled must not be negative, "
                             f"got {warmup}, {timed} and {profiled}")
        if not trace and timed + profiled == 0:
            raise ValueError("nothing to capture: no trace, no timed and no profiled steps")
        self._output = OutputFolder(out_dir)
        self.notices = []  # sentences for the summary: what the capture lacks
        self.summary = None  # text for people, on rank 0, once the capture is complete
        self._over = False  # the capture was abandoned
        self._whole = False
        self._failure = None
        self.tensor_range = tensor_range
        self.step_marker = step_marker
        self.compiled_sources = compiled_sources
        self.shapes = shapes
        self.stop_when_done = stop_when_done
        self._untouched_bytes = None
        self._counting = fault_counting() if profiled and count_faults else None
        if self._counting is None and profiled and count_faults and not torch.cuda.is_available():
            self.notices.append("page faults were not counted: the system or this torch does not let a process count its own")
        has_counters = torch.cuda.is_available() and torch.version.cuda is not None
        self._wants_counters = counters
        self._why_uncounted = WROTE_NONE if has_counters else "torch sees no NVIDIA GPU"
        self._phases = plan(warmup=warmup, timed=timed, free=free, profiled=profiled, trace=trace,
                            indices=indices, counts_faults=bool(self._counting),
                            counts_kernels=counters and has_counters)
        self.steps_needed = sum(phase != "faults" for phase in self._phases)
        self._least_timed = timed
        self._settling = Settling(steady_s, say)
        self._most_events = most_events
        self._index = None  # None: the first step has not begun
        self._measured = Measurements(self._phases, allocations, speed_probe)
        self._kernel_settings = {}
        self._autocast = AutocastSeen()
        self._records = Records(self._output)
        self._open = contextlib.ExitStack()  # observers of the current step
        self._observers = {  # phase → what observes all its steps
            "profiler_warmup": self._begin_warmup,
            "kineto_only": lambda: self._records.begin_profile("kineto_only", steps=self._phases.count("kineto_only")),
            "faults": lambda: self._records.begin_profile("faults", counts_faults=True),
            "counters": self._begin_counters,
            "indices": self._enter_index_recorder,
            "et": lambda: self._records.begin_trace(self.tensor_range, self.shapes),
        }

    @property
    def steps_seen(self) -> int:
        return self._index or 0

    @property
    def done(self) -> bool:
        return self._over or self.steps_seen >= len(self._phases)

    @property
    def whole(self) -> bool:
        """Returns whether everything is written under its final name."""
        return self._whole

    def __enter__(self) -> Capture:
        self._begin_capture()
        return self

    def __exit__(self, kind, error, traceback):
        if kind is None:
            self.close()
        else:
            self.abandon()

    def step(self) -> bool:
        """Ends the current step and begins the next. Returns True while more steps are needed."""
        if self.done:
            return False
        if self._index is None:
            # Without a `with`, the beginning of the first step is unknown: counting starts here.
            self._begin_capture()
            return True
        phase = self._phases[self._index]
        is_last = self._phases[self._index + 1:self._index + 2] != [phase]
        now = clock() if phase != "free" or is_last else clock_alone()
        with self._failing():
            self._open.close()
        self._measured.end(phase, now)
        if phase == "timed" and is_last:
            self._wait_until_steady()
        self._index += 1
        if self._phases[self._index:self._index + 1] != [phase]:
            with self._failing():
                self._records.end()
        if self.done:
            self._finish()
            if self.stop_when_done:
                raise CaptureDone
            return False
        with self._failing():
            self._begin_step()
        return True

    def _wait_until_steady(self):
        """Adds another timed step or, once steps are steady, keeps the second half of them."""
        with self._failing():
            times = self._measured.timed_ns
            if not self._settling.is_over(times, self._measured.timed_wait_ns):
                self._phases.insert(self._index + 1, "timed")
            elif self._settling.facts:
                self.notices += self._settling.notices
                self._measured.keep_timed(max(self._least_timed, min(MOST_TIMED, len(times) // 2)))

    def close(self):
        """Checks that the capture is complete; raises IncompleteCapture if it is not."""
        if self._whole:
            return
        if self._failure is not None:  # the loop continued despite the error
            raise self._failure
        if not self._over and self._index is not None and self._phases[self._index] == "faults":
            self._close_without_faults()
            return
        self.abandon()
        if self._settling.facts and self.steps_seen >= self.steps_needed:
            raise EndedUnsteady(f"the loop ended after {self.steps_seen} steps, before they were steady and "
                                "recorded")
        raise IncompleteCapture(
            f"the loop ended after {self.steps_seen} of the {self.steps_needed} steps that the "
            "capture needs; make it longer, or ask for fewer warm-up or timed steps")

    def _close_without_faults(self):
        """Handles a loop that ended in the steps that count faults: everything else is complete."""
        with self._failing():
            self._open.close()
            self._records.end()
        self._records.forget_last_profile()
        self._measured.forget_faults()
        self.notices.append(f"page faults were not counted: the loop ended before the {FAULT_STEPS} "
                            "steps for it")
        self._index = len(self._phases)
        self._finish()

    def _begin_capture(self):
        self._measured.begin_capture()
        self._index = 0
        with self._failing():
            check_recorded()
            self._output.begin()
            self._begin_step()

    def _begin_step(self):
        phase = self._phases[self._index]
        self._measured.note_peak_rss(phase)
        is_first = phase not in self._phases[:self._index]
        if is_first and phase in self._observers:
            self._observers[phase]()
        if phase not in UNWATCHED:
            self._open.enter_context(self._autocast)
        if phase != "free":
            self._kernel_settings = kernel_settings()
        self._measured.probe(phase)
        if phase in PROFILED:
            self._open.enter_context(kernel_labels(describes=phase == "et"))
            self._open.enter_context(reduce_op_labels())
        settles = phase == "faults" and is_first
        if phase in PROFILED and self.step_marker and not settles:
            self._open.callback(synchronize)  # the step's marker includes its device work
            self._open.enter_context(record_function(f"ProfilerStep#{self._index}"))
        self._measured.begin(phase)

    def _begin_warmup(self):
        self._open.enter_context(counting_own_threads(kineto(settings(all_threads=True)), self._note_own_threads))

    def _begin_counters(self):
        try:
            self._records.begin_profile("counters", metrics=METRICS)
        except Exception as problem:
            self._records.abandon_profile()
            self._why_uncounted = problem

    def _enter_index_recorder(self):
        """Enters the recorder. At the end of the step, writes how the step's index values repeat, if there are any."""
        recorder = IndexRecorder()
        live_tensors = LiveTensors()

        def write():
            self._untouched_bytes = live_tensors.untouched_bytes(recorder.touched)
            if recorder.unrecordable is not None:
                kind, instead = recorder.unrecordable
                raise RuntimeError(
                    f"the step uses {kind}, which torch's execution trace observer cannot record; "
                    f"{instead}, or capture without a trace (--no-trace)")
            if recorder.why_no_ranges and self.tensor_range:
                self.tensor_range = False
                self.notices.append(f"no ranges of integers: {recorder.why_no_ranges}")
            document = recorder.document(job.rank())
            if document["left_out"]:
                self.notices.append(f"{document['left_out']} uses of index values were left out")
            if any(document[kind] for kind in ("uses", "zeros", "sparse")):
                self._records.keep_document("indices", document)

        self._open.callback(write)
        self._open.enter_context(kernel_labels(recorder.touch))
        self._open.enter_context(recorder)

    def _note_own_threads(self, threads, events):
        self._profile_fewer(events)
        self._records.all_threads = threads > 0
        if threads:
            more = "1 more thread" if threads == 1 else f"{threads} more threads"
            self.notices.append(f"operators ran on {more} of the program's own: to see them, profiles leave out "
                                "when memory came and went")

    def _profile_fewer(self, events):
        """Profiles only as many steps as fit in the profile. The others pass unprofiled, so that all ranks have the same number of
        steps."""
        profiled = self._phases.count("kineto_only")
        fits = min(profiled, max(1, self._most_events // max(1, events)))
        if fits < profiled:
            first = self._phases.index("kineto_only")
            self._phases[first + fits:first + profiled] = ["passed"] * (profiled - fits)
            self.notices.append(f"{fits} of {profiled} steps profiled: one has {events:,} events, and a profile "
                                f"{self._most_events:,} at most")

    def abandon(self):
        """Stops everything and deletes this capture."""
        if self._whole:
            return
        with contextlib.suppress(Exception):
            self._open.close()
            self._records.end()
        self._output.discard()
        self._over = True

    @contextlib.contextmanager
    def _failing(self):
        """Context manager: an error in its block ends the capture, and close() raises the error again."""
        try:
            yield
        except Exception as problem:
            self._failure = problem
            if not isinstance(problem, CaptureFailed):
                self._failure = CaptureFailed(text_of(problem))
            self.abandon()
            raise self._failure from (problem if self._failure is not problem else None)

    def _finish(self):
        """Publishes the capture if it is complete on all ranks, otherwise on none."""
        with self._failing():
            report = {"rank": job.rank(), "folder": str(self._output.partial), "notices": self.notices}
            report["failure"] = failure_of(lambda: report.update(self._finish_rank()))
            ranks = job.gather(report)
            failed = [f"rank {rank['rank']}: {rank['failure']}" for rank in ranks if rank["failure"] is not None]
            if failed:
                raise CaptureFailed("; ".join(failed))
            failure = job.gather(failure_of(lambda: self._publish(ranks)) if job.leads() else None)[0]
            if failure is not None:
                raise CaptureFailed(failure)
            if not job.leads():
                self._output.publish_part()
        self._whole = True

    def _finish_rank(self):
        """Returns what rank 0 needs of this rank's part."""
        self._records.write_profiles()
        if self._wants_counters and not self._records.counted_kernels:
            self.notices.append(f"hardware counters were not recorded: {self._why_uncounted}")
        self._finish_compiled()
        self.notices += of_steps(self._records.operators, self._phases.count("kineto_only"))
        if "et" in self._phases:
            self.notices += of_groups(job.process_groups(), job.world_size())
        return {"description": self._describe_rank(), "bytes": {path.name: path.stat().st_size for path in self._records.targets}}

    def _publish(self, ranks):
        """Runs on the rank that leads."""
        self._write_description([rank["description"] for rank in ranks])
        self.summary = self._summarize(ranks)
        self._output.publish([rank["folder"] for rank in ranks[1:]])

    def _describe_rank(self):
        return {
            "rank": job.rank(),
            "files": sorted(target.name for target in self._records.targets),
            "trace": self._records.mark,
            **self._measured.describe(),
            "steady": self._settling.facts,
            "observer_ns": self._observer_cost(),
            "untouched_tensor_bytes": self._untouched_bytes,
            "compiled_graphs": len(graph_modules()),
            "compiled_regions": dict(sorted(self._records.regions.items())),
            "process_groups": job.process_groups(),
            "kernel_settings": self._kernel_settings,
            "autocast": sorted(self._autocast.regions),
            "environment": machine.describe_environment(),
        }

    def _observer_cost(self):
        return observer_cost("et" in self._phases) if self._records.targets else None

    def _write_description(self, ranks):
        text = json.dumps({**self._facts(), "ranks": ranks}, indent=1) + "\n"
        self._output.file(DESCRIPTION).write_text(text, encoding="utf-8")

    def _facts(self):
        """Returns what capture.json says of the whole capture."""
        return {
            "format": CAPTURE_FORMAT,
            "version": CAPTURE_VERSION,
            "id": secrets.token_hex(8),
            "world_size": job.world_size(),
            "clock": "monotonic",
            "tensor_range": self.tensor_range,
            "step_marker": self.step_marker,
        }

    def _summarize(self, ranks):
        return summarize(self._output.folder, ranks, job.world_size())

    def _finish_compiled(self):
        """Keeps the sources of Triton's kernels; reports steps that compiled differently."""
        self.notices += of_regions(self._records.regions)
        kernels = describe_kernels(job.rank()) if self.compiled_sources and "et" in self._phases else None
        if kernels:
            self._records.keep_document("compiled", kernels)


def capture(out_dir: str | os.PathLike[str], **options: Any) -> Capture:
    """Returns a Capture to use as a context manager; the options are those of Capture."""
    if "card" in options:
        raise TypeError(NOT_HERE.format(what="capture(card=…)", card=options["card"]))
    return Capture(out_dir, **options)


def capture_step(step_fn: Callable[[], Any], out_dir: str | os.PathLike[str], *, steady_s: float = STEADY_S, **options: Any) -> Capture:
    """Calls step_fn() for each step that the capture needs; returns the Capture."""
    if not callable(step_fn):
        raise TypeError("capture_step() calls its first argument once a step: expected a function of "
                        "no arguments, as capture_step(lambda: train(batch), 'captures/mine'), got "
                        f"{_kind(step_fn)}")
    with capture(out_dir, steady_s=steady_s, **options) as c:
        while not c.done:
            step_fn()
            c.step()
    return c
