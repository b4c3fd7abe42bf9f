"""Paths of a fidelity run: of a clone, or of the installed package."""

import importlib.util
import sys
from pathlib import Path

from ..programs import folder

CLONE = Path(__file__).resolve().parents[3]
IS_CLONE = (CLONE / "scripts" / "capture").is_file()
SAMPLES = CLONE / "fleet_samples"  # only in a clone
LIBRARIES = folder().parent / "lib" / "understudy"
INSTEAD = "run scripts/build" if IS_CLONE else "install the package again"


def python():
    """Returns the Python for training: the current one, or the clone's own if the current one has no torch."""
    own = CLONE / ".venv" / "bin" / "python"
    if IS_CLONE and own.exists() and importlib.util.find_spec("torch") is None:
        return str(own)
    return sys.executable
