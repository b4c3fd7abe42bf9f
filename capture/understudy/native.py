"""Measures with the replay's own libraries, if they are built against this process's torch."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Callable

from .endings import USAGE, Refused


def load(library):
    try:
        return ctypes.CDLL(str(library))
    except OSError as problem:
        raise Refused(f"{library} cannot be loaded into this Python ({problem}); scripts/build builds it, for the torch "
                      "that it is given", USAGE) from problem


def count_allocations(library: str | os.PathLike[str]) -> Any:
    """Counts the bytes of live tensors from now on, with the replay's own allocator.

    library: libunderstudy_allocations.so, built against the torch that runs here. Must be called before the first tensor is created; older
    tensors do not count.
    """
    native = load(library)
    native.understudy_peak_bytes.restype = ctypes.c_uint64
    native.understudy_count_allocations()
    return native


def load_speed_probe(library: str | os.PathLike[str]) -> Callable[[], float]:
    """Returns a function without arguments that times a fixed piece of work in ms, as the replay does.

    library: libunderstudy_speed_probe.so, built against the torch that runs here.
    """
    native = load(library)
    native.understudy_speed_probe_ms.restype = ctypes.c_double
    return native.understudy_speed_probe_ms
