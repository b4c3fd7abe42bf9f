"""Profiles of torch.profiler as generate reads them (docs/profiles.md)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Callable

from . import job

NEEDED = ("record_shapes", "profile_memory")


def profile_handler(folder: str | os.PathLike[str]) -> Callable[[Any], None]:
    """Returns an on_trace_ready for torch.profiler.profile that writes `folder`/rank-R.json.gz on each rank.

    A later cycle of the profiler's schedule replaces the file. The handler raises ValueError if the profiler was made
    without what a benchmark needs: record_shapes, profile_memory and the CPU's activities.
    """
    target_folder = Path(folder)

    def write(profiler: Any) -> None:
        missing = [f"{flag}=True" for flag in NEEDED if not getattr(profiler, flag)]
        if "CPU" not in {activity.name for activity in profiler.activities}:
            missing.append("ProfilerActivity.CPU among its activities")
        if missing:
            raise ValueError(f"a benchmark needs a profile with more: give torch.profiler.profile {', '.join(missing)}")
        target_folder.mkdir(parents=True, exist_ok=True)
        target = target_folder / f"rank-{job.rank()}.json.gz"
        partial = target.with_name(f".{os.getpid()}.{target.name}")
        try:
            profiler.export_chrome_trace(str(partial))
            partial.rename(target)
        finally:
            partial.unlink(missing_ok=True)

    return write
