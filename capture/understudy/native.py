"""Measures with the replay's own libraries, which are there for each torch that the replay was built for."""

from __future__ import annotations

import ctypes
from typing import Any, Callable

from .endings import USAGE, Refused
from .programs import IS_CLONE, folder


def load(name):
    """Loads libunderstudy_NAME.so, of the clone's build or of the installed package's folder for the torch that runs here."""
    import torch

    version, prefix = ".".join(torch.__version__.split(".")[:2]), folder().parent
    library = prefix / ("lib/understudy" if IS_CLONE else f"libexec/torch-{version}") / f"libunderstudy_{name}.so"
    try:
        return ctypes.CDLL(str(library))
    except OSError as problem:
        raise Refused(f"{library} cannot be loaded into this Python, whose torch is {torch.__version__} ({problem}); " +
                      ("scripts/build builds it, for the torch that it is given" if IS_CLONE else
                       f"install a wheel that was made for it: scripts/wheel --torch {version}"), USAGE) from problem


def count_allocations() -> Any:
    """Counts the bytes of live tensors with the replay's own allocator: of those that are created from now on."""
    native = load("allocations")
    native.understudy_peak_bytes.restype = ctypes.c_uint64
    native.understudy_count_allocations()
    return native


def load_speed_probe() -> Callable[[], float]:
    """Returns a function without arguments that times a fixed piece of work in ms, as the replay does."""
    native = load("speed_probe")
    native.understudy_speed_probe_ms.restype = ctypes.c_double
    return native.understudy_speed_probe_ms
