"""The host's memory, which a model takes that is built there: where it ends is an error, not a killed process."""

from __future__ import annotations

import contextlib
import re
import resource
import traceback
from pathlib import Path

from ..summary import size_text
from .values import script_line

CONTAINER = Path("/sys/fs/cgroup")
KIBI = 1024
NO_MEMORY = re.compile(r"std::bad_alloc|DefaultCPUAllocator: can't allocate memory(.*? (?P<wanted>\d+) bytes)?")

_free_bytes = 0


def _number(path, key):
    """Returns the number in the line of a file that begins with `key`."""
    return next(int(line.split()[1]) for line in path.read_text().splitlines() if line.startswith(key))


def limit():
    """From now on this process takes no more than what is free."""
    global _free_bytes
    _free_bytes = _number(Path("/proc/meminfo"), "MemAvailable:") * KIBI
    with contextlib.suppress(OSError, ValueError):  # there is none, or "max"
        used = int((CONTAINER / "memory.current").read_text()) - _number(CONTAINER / "memory.stat", "inactive_file ")
        _free_bytes = min(_free_bytes, int((CONTAINER / "memory.max").read_text()) - used)
    taken = _number(Path("/proc/self/status"), "VmData:") * KIBI
    resource.setrlimit(resource.RLIMIT_DATA, (taken + _free_bytes, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def refusal(error):
    """Returns what to do as one line if the host's memory did not suffice, else None."""
    found = NO_MEMORY.search(str(error))
    if not found and not isinstance(error, MemoryError):
        return None
    wanted = size_text(int(found["wanted"])) if found and found["wanted"] else "some"
    line = script_line(reversed([*traceback.walk_tb(error.__traceback__)]))
    return (f"{line}: the host's memory ends: {size_text(_free_bytes)} were free, and what the script builds there takes them and wants {wanted} more; "
            'build the model where it takes none: under `with torch.device("cuda")`, or "meta" and then `to_empty(device="cuda")`')
