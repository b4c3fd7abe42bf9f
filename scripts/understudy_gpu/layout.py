"""Paths of the tree, of the build, and of the Python with torch."""

from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OWN_BIN = ROOT / "build" / "release" / "bin"
OWN_PYTHON = ROOT / ".venv" / "bin" / "python"
SAMPLES = ROOT / "fleet_samples"
PROGRAMS = HERE / "programs"
START_RANKS = "tests/mpi/start_ranks"  # starts ranks on this host, with or without MPI
CHECK_S = 60  # time limit of one check
