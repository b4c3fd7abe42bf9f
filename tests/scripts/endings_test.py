"""Every command in Python ends through run_main: no traceback where something is unexpected."""

import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ["scripts/platforms", "tests/benchmarks/compare_study", "tests/benchmarks/drift_study",
            "tests/benchmarks/pace_study", "tests/benchmarks/run_benchmarks", "tests/captures/make_captures.py",
            "tests/golden/compare/make_reports", "tests/golden/suite/make_gallery", "gallery/make",
            "tests/golden/list_refused", "tests/mpi/fault_study", "tests/run_everywhere", "tests/accounts", "scripts/checks/headers", "scripts/checks/type_names", "scripts/checks/unity_names", "scripts/checks/public_operators", "scripts/checks/size",
            "fleet_samples/programs/make_samples.py", "tests/benchmarks/prediction/scoreboard", "tests/benchmarks/prediction/sharding_study",
            "tests/benchmarks/prediction/anchored_study", "tests/benchmarks/prediction/profile_rows_study", "tests/benchmarks/import_study",
            "tests/benchmarks/prediction/batch_study", "tests/benchmarks/prediction/own_machine_study", "tests/benchmarks/prediction/recorded_study",
            "tests/benchmarks/fleet_benchmarks", "tests/benchmarks/fleet_study",
            "tests/benchmarks/change_points_study", "tests/benchmarks/fleet_workers_study",
            "tests/benchmarks/fleet_subset_study", "tests/benchmarks/pages_paint", "tests/benchmarks/compose_study", "tests/benchmarks/work_study", "tests/fleet/kill_study",
            "tests/batch/held", "tests/benchmarks/prediction/slow_rank_study", "tests/benchmarks/prediction/stragglers_study"]
# Runs a command with a main() that fails; run_main must then handle the failure.
BROKEN = """
import runpy, sys
sys.path.insert(0, sys.argv[1])
from understudy import endings
run_main = endings.run_main
def broken(name, main):
    def fail():
        raise KeyError("planted")
    run_main(name, fail)
endings.run_main = broken
path = sys.argv[2]
sys.path.insert(0, path.rpartition("/")[0])
runpy.run_path(path, run_name="__main__")
"""


class EndingsTest(unittest.TestCase):
    def test_something_unexpected_is_one_line_and_status_70(self):
        for name in COMMANDS:
            done = subprocess.run([sys.executable, "-c", BROKEN, ROOT / "capture", ROOT / name],
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (
                70, f"{name.rpartition('/')[2]}: a bug of ours: KeyError: 'planted'; please report "
                    "it, with what UNDERSTUDY_DEBUG=1 shows\n"), name)

    def test_none_is_forgotten(self):
        listed = subprocess.run(["git", "grep", "-l", "^#!/usr/bin/env python3"], cwd=ROOT,
                                capture_output=True, text=True).stdout.split()
        thin = {"scripts/capture",  # its main() is run_main itself
                "tests/benchmarks/kernel_launches_study"}  # and this one's unittest's
        # These are parts of golden commands, programs that are captured, and processes whose first argument says what to do.
        fixtures = {"tests/golden/edit_bench", "tests/golden/one_operator",
                    "tests/golden/replay/interrupted", "tests/golden/replay/fresh_rows",
                    "tests/chakra/python_reader", "tests/captures/gpu_steps.py", "tests/profiles/record.py", "gallery/programs.py",
                    "tests/benchmarks/large_profile.py", "tests/benchmarks/prediction/mpt_step",
                    "tests/golden/inspect/make_slow", "tests/golden/shard/make_inputs", "tests/golden/damaged_profile",
                    "tests/golden/generate/make_graph_run",
                    "tests/golden/predict/make_tables", "tests/golden/predict/make_step",
                    "tests/golden/calibrate/measured", "tests/golden/shard/held_calls",
                    "tests/golden/calibrate/interrupt", "tests/fleet/stand_in_replay"}
        self.assertEqual(set(listed) - thin - fixtures, set(COMMANDS))


if __name__ == "__main__":
    unittest.main()
