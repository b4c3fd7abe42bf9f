"""Records one step on a played card, as the recorder of a real one; times are left out: they are those of a driver that computes nothing."""

from __future__ import annotations

import importlib.util

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from .. import job, machine
from ..measurements import Measurements
from ..output import CaptureFailed
from ..recorder import Capture
from ..summary import next_command, size_text
from . import kinds
from .values import Unsupported, check_refused, refuse, skip, skipped

SAVES = (("torch", "save"), ("torch.distributed.checkpoint", "save"), ("torch.distributed.checkpoint", "async_save"), ("safetensors.torch", "save_file"))
MOST_UNCOUNTED = 20  # steps of optimizers before the first step()
STEP = "add `import understudy`, and `understudy.step()` at the end of each training step"


def leave_out_checkpoints():
    """Writes nothing where a script saves tensors: they would overwrite a checkpoint with what was never computed."""
    for module, name in SAVES:
        if importlib.util.find_spec(module.partition(".")[0]):
            setattr(importlib.import_module(module), name, lambda *_, said=f"{module}.{name}", **__: skip(said))


class PlayedCapture(Capture):
    """The script's first step has made optimizers' states, and is not recorded; DDP rebuilds its buckets in the second."""

    def __init__(self, out_dir, values, ranks, card):
        super().__init__(out_dir, warmup=1, timed=0, profiled=0, indices=False, count_faults=False, tensor_range=False, stop_when_done=True)
        self._values, self._ranks, self._card = values, ranks, card
        self._uncounted = 0
        self._allocations = 0
        self._records.facts["notRun"] = {"as": card}
        leave_out_checkpoints()
        register_optimizer_step_post_hook(self._count_uncounted)

    def _count_uncounted(self, *_):
        self._uncounted += self._index is None
        if self._uncounted > MOST_UNCOUNTED:
            refuse(f"optimizers made {MOST_UNCOUNTED} steps, and none ended with understudy.step()", STEP)

    def step(self):
        check_refused()
        return super().step()

    def _begin_capture(self):
        if not self._ranks.has_reducer:
            self._phases.remove("warmup")
            self.steps_needed -= 1
        super()._begin_capture()

    def _begin_step(self):
        if self._phases[self._index] == "et":
            kinds.tell(self._ranks.partners)
            machine.reset_device_peak()
            self._allocations = machine.device_allocations()
        super()._begin_step()

    def _finish(self):
        if job.world_size() != self._ranks.world_size:
            raise Unsupported(f"the script made no process group of {self._ranks.world_size} ranks; leave --world-size out, or start it "
                                "as torchrun would: it has to call init_process_group()")
        super()._finish()
        kinds.tell(self._ranks.partners)

    def _describe_rank(self):
        told = super()._describe_rank()
        peak = torch.cuda.max_memory_allocated()
        told["environment"] |= {"gpu": None, "cuda": None, "devices": [self._card]}
        return {**told, **Measurements((), None, None).describe(), "peak_rss_bytes": None, "rss_at_start_bytes": None,
                "peak_device_bytes": peak, "peak_tensor_bytes": peak, "peak_reserved_bytes": torch.cuda.max_memory_reserved(),
                "step_device_allocations": [machine.device_allocations() - self._allocations],
                "assumed_values": dict(sorted(self._values.read.items()))}

    def _observer_cost(self):
        return None  # no time is taken of what it observes

    def _facts(self):
        return {**super()._facts(), "not_run": {"as": self._card}}

    def _summarize(self, ranks):
        told, read = ranks[0]["description"], self._values.read
        rows = [f"rank {self._ranks.rank}" if kinds.is_part() else f"wrote {self._output.folder}",
                f"  ran           nothing: {self._records.nodes} nodes of a step that a card was only told of",
                f"  memory        {size_text(told['peak_device_bytes'])} of tensors at the peak, {size_text(told['peak_reserved_bytes'])} reserved"]
        if read:
            lines = ", ".join(f"{line} ({count})" for line, count in read.most_common(4))
            rows.append(f"  not known     values that the script read, taken for 1, finite ones: {lines}")
        if skipped:
            rows.append(f"  not done      {', '.join(f'{line} ({count})' for line, count in skipped.most_common(4))}")
        rows += [f"  warning       {notice}" for notice in self.notices]
        rows.append("  holds         one step: what comes every N steps (evaluation, checkpoints) is in it if it fell there")
        if not kinds.is_part():
            rows.append(f"  next          {next_command(self._output.folder, self._ranks.world_size, 1)}")
        return "\n".join(rows)
