"""Paths of a fidelity run's programs: in a clone's build, or in a prefix."""

import importlib.util
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CLONE = HERE.parents[1]
PREFIX = HERE.parents[2]  # this file is in PREFIX/share/understudy/understudy_fidelity
IS_CLONE = (CLONE / "scripts" / "capture").is_file()
SAMPLES = CLONE / "fleet_samples"  # only in a clone


def _programs():
    default = CLONE / "build" / "release" / "bin" if IS_CLONE else PREFIX / "bin"
    return Path(os.environ.get("UNDERSTUDY_BIN", default)).resolve()


PROGRAMS = _programs()
LIBRARIES = PROGRAMS.parent / "lib" / "understudy"
CAPTURE = CLONE / "scripts" / "capture" if IS_CLONE else PREFIX / "bin" / "understudy-capture"
INSTEAD = "run scripts/build" if IS_CLONE else "install it again, with the replayer"


def program(name):
    """Returns the path of a program. In a prefix only `replay` is on PATH under its own name."""
    is_hidden = not IS_CLONE and "UNDERSTUDY_BIN" not in os.environ and name != "replay"
    return (PREFIX / "libexec" / "understudy" if is_hidden else PROGRAMS) / name


def python():
    """Returns the Python for training: the current one, or the clone's own if the current one has no torch."""
    own = CLONE / ".venv" / "bin" / "python"
    if IS_CLONE and own.exists() and importlib.util.find_spec("torch") is None:
        return str(own)
    return sys.executable


def torch_of_python():
    """Returns the environment with which an installed replay uses the LibTorch of the training Python."""
    found = None if IS_CLONE else importlib.util.find_spec("torch")
    return {"UNDERSTUDY_TORCH_ROOT": found.submodule_search_locations[0]} if found else {}
