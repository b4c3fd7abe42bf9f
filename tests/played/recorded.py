"""A program of tests/profiles/record.py to capture without running: recorded.py NAME."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "profiles"))
import record  # noqa: E402

import understudy  # noqa: E402

step = record.make_step(sys.argv[1])
for _ in range(12):
    step()
    understudy.step()
