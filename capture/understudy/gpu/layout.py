"""Paths of the check: of a clone, or of the installed package."""

from pathlib import Path

from ..programs import CLONE, IS_CLONE, OWN_PYTHON, folder

HERE = Path(__file__).resolve().parent
OWN_BIN = folder()
SAMPLES = CLONE / "fleet_samples" if IS_CLONE else HERE.parent / "share" / "fleet_samples"
PROGRAMS = HERE / "programs"
# Starts ranks on this host, with or without MPI.
START_RANKS = str(CLONE / "tests" / "mpi" / "start_ranks" if IS_CLONE else OWN_BIN / "understudy-start_ranks")
CHECK_S = 60  # time limit of one check
