"""Paths of a fidelity run: of a clone, or of the installed package."""

import importlib.util
import sys

from ..programs import CLONE, IS_CLONE, OWN_PYTHON

SAMPLES = CLONE / "fleet_samples"  # only in a clone
INSTEAD = "run scripts/build" if IS_CLONE else "install the package again"


def python():
    """Returns the Python for training: the current one, or the clone's own if the current one has no torch."""
    if IS_CLONE and OWN_PYTHON.exists() and importlib.util.find_spec("torch") is None:
        return str(OWN_PYTHON)
    return sys.executable
