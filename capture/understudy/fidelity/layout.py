"""Paths of a fidelity run: of a clone, or of the installed package."""

from ..programs import CLONE, IS_CLONE

SAMPLES = CLONE / "fleet_samples"  # only in a clone
INSTEAD = "run scripts/build" if IS_CLONE else "install the package again"
