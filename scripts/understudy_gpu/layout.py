"""Paths: of the tree, of what was built, of the Python that has torch."""

from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OWN_BIN = ROOT / "build" / "release" / "bin"
OWN_PYTHON = ROOT / ".venv" / "bin" / "python"
SAMPLES = ROOT / "fleet_samples"
PROGRAMS = HERE / "programs"
START_RANKS = "tests/mpi/start_ranks"  # ranks of this host, with or without MPI
CHECK_S = 60  # time for one check, at most
