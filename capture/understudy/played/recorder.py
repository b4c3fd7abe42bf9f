"""Drives the steps of a capture that does not run: some to make optimizer states and buckets, one that is recorded."""

from __future__ import annotations

import contextlib
import json
import secrets

import torch
from torch.autograd.profiler import profile
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.profiler import ExecutionTraceObserver

from .. import job, machine
from ..comms import reduce_op_labels
from ..measurements import Measurements
from ..kernels import AutocastSeen, kernel_settings
from ..output import CAPTURE_FORMAT, DESCRIPTION, OutputFolder
from ..recorder import CAPTURE_VERSION, CaptureDone, IncompleteCapture
from ..records import Records, beside
from ..summary import next_command, size_text
from . import kinds, trace
from .values import Unsupported, refuse, skipped

MOST_UNCOUNTED = 20  # steps of optimizers before the first step()
STEP = "add `import understudy`, and `understudy.step()` at the end of each training step"


class FakeCapture:
    """step() ends a step, as the command's capture of a real run."""

    def __init__(self, out_dir, mode, values, groups, card):
        self._output = OutputFolder(out_dir)
        self._mode, self._values, self._groups, self._card = mode, values, groups, card
        self._autocast = AutocastSeen()
        self._steps = None  # ended ones; None: the first has not begun
        self._uncounted = 0
        register_optimizer_step_post_hook(self._count_uncounted)
        self._records = Records(self._output)
        self._recording = contextlib.ExitStack()
        self.whole = False
        self.steps_seen = 0
        self.summary = None

    def _count_uncounted(self, *_):
        self._uncounted += self._steps is None
        if self._uncounted > MOST_UNCOUNTED:
            refuse(f"optimizers made {MOST_UNCOUNTED} steps, and none ended with understudy.step()", STEP)

    def step(self):
        if self.whole:
            return False
        if self._steps is None:
            self._steps = 0
            self._output.begin()
        else:
            self._steps += 1
        self.steps_seen = self._steps
        # The first step has made optimizers' states; DDP rebuilds its buckets in the second.
        warm_up = 1 if self._groups.has_reducer else 0
        if self._steps == warm_up:
            self._begin_trace()
        elif self._steps > warm_up:
            self._finish()
            raise CaptureDone
        return True

    def close(self):
        if not self.whole:
            self.abandon()
            raise IncompleteCapture(f"the loop ended after {self.steps_seen} of the {2 if self._groups.has_reducer else 1} steps that a capture needs")

    def abandon(self):
        self._recording.close()
        if not self.whole:
            self._output.discard()

    def _begin_trace(self):
        self._device = torch.device("cpu" if self._card is None else f"cuda:{torch.cuda.current_device()}")
        self._mode.memory.reset_peak()
        self._allocations = self._mode.memory.allocations
        self._recording.enter_context(self._autocast)
        self._target = self._records.path("et")
        self._groups.calls.clear()
        kinds.tell(self._groups.partners)
        observer = ExecutionTraceObserver()
        observer.register_callback(str(beside(self._target, ".raw")))
        self._recording.callback(observer.unregister_callback)
        # Labels are recorded only while there is a profiler; its own result is not used.
        self._recording.enter_context(profile())
        observer.start()
        self._recording.callback(observer.stop)
        self._recording.enter_context(reduce_op_labels())
        self._recording.enter_context(torch._C._profiler._RecordFunctionFast(f"ProfilerStep#{self._steps}"))

    def _finish(self):
        self._recording.close()
        if job.world_size() != self._groups.world_size:
            raise Unsupported(f"the script made no process group of {self._groups.world_size} ranks; leave --world-size out, or start it "
                                "as torchrun would: it has to call init_process_group()")
        raw = beside(self._target, ".raw")
        if not raw.exists():
            raise Unsupported("the execution trace observer wrote no file; is another one active in this process?")
        document = trace.clean(raw, self._groups.calls)
        self._records.mark = {key: document[key] for key in ("pid", "start_ts")}
        self._records.nodes = len(document["nodes"])
        self._records.keep(raw, self._target)
        self._output.file(DESCRIPTION).write_text(json.dumps(self._describe(), indent=1) + "\n", encoding="utf-8")
        self._output.publish()
        kinds.tell(self._groups.partners)
        self.whole = True
        self.summary = self._summarize()

    def _describe(self):
        memory = self._mode.memory
        environment = machine.describe_environment()
        environment["gpu"] = environment["cuda"] = None
        environment["devices"] = [] if self._card is None else [self._card.name]
        peak = memory.peak.get(self._device, 0)
        rank = {
            "rank": self._groups.rank, "files": [self._target.name], "trace": self._records.mark,
            **Measurements((), None, None).describe(), "steady": None, "observer_ns": None, "untouched_tensor_bytes": None,
            "peak_device_bytes": peak if self._card else None, "peak_tensor_bytes": peak,
            "step_device_allocations": [memory.allocations - self._allocations] if self._card else None,
            "process_groups": job.process_groups(), "kernel_settings": kernel_settings(), "autocast": sorted(self._autocast.regions),
            "assumed_values": dict(sorted(self._values.read.items())),
            "environment": environment}
        return {"format": CAPTURE_FORMAT, "version": CAPTURE_VERSION, "id": secrets.token_hex(8), "world_size": self._groups.world_size,
                "clock": "monotonic", "tensor_range": False, "step_marker": True,
                "not_run": {"as": self._card.name if self._card else "cpu"}, "ranks": [rank]}

    def _summarize(self):
        read = self._values.read
        rows = [f"rank {self._groups.rank}" if kinds.is_part() else f"wrote {self._output.folder}",
                f"  ran           nothing: {self._records.nodes} nodes of a step on tensors without contents",
                f"  memory        {size_text(self._mode.memory.peak.get(self._device, 0))} of tensors at the peak, on {self._device}"]
        if read:
            lines = ", ".join(f"{line} ({count})" for line, count in read.most_common(4))
            rows.append(f"  not known     values that the script read, taken for 1, finite ones: {lines}")
        if skipped:
            rows.append(f"  not done      {', '.join(f'{line} ({count})' for line, count in skipped.most_common(4))}")
        rows.append("  holds         one step: what comes every N steps (evaluation, checkpoints) is in it if it fell there")
        if not kinds.is_part():
            rows.append(f"  next          {next_command(self._output.folder, self._groups.world_size, 1)}")
        return "\n".join(rows)
