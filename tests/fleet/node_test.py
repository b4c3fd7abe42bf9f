"""The lock of a node: many may compute, whoever times replays is alone. `suite` has the same in C++ (tests/unit/fleet/process)."""

import fcntl
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "capture"), str(ROOT / "fleet")]
from understudy_fleet.problems import Problem  # noqa: E402
from understudy_fleet import programs  # noqa: E402
from understudy_fleet.programs import JudgeOfLines, asked_of_judge, node_lock, run_program  # noqa: E402


class NodeTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.use("lock")

    def use(self, name):
        os.environ["UNDERSTUDY_NODE_LOCK"] = str(self.folder / name)

    def can_be_had(self, operation):
        """Returns whether another could lock the node now."""
        with open(self.folder / "lock", "rb") as file:
            try:
                fcntl.flock(file, operation | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    def test_many_may_compute(self):
        with node_lock(times=False):
            self.assertTrue(self.can_be_had(fcntl.LOCK_SH))
            self.assertFalse(self.can_be_had(fcntl.LOCK_EX))

    def test_who_times_is_alone(self):
        with node_lock(times=True) as lock:
            self.assertFalse(self.can_be_had(fcntl.LOCK_SH))
            outlives = os.dup(lock)  # as a launcher's daemon has it
        self.assertTrue(self.can_be_had(fcntl.LOCK_EX))
        os.close(outlives)
        self.assertEqual((self.folder / "lock").stat().st_mode & 0o777, 0o444)  # for all to lock, for none to write

    def test_what_is_no_file_is_refused(self):
        (self.folder / "link").symlink_to("mine")
        os.mkfifo(self.folder / "pipe")
        for name, got in (("link", "Too many levels of symbolic links"), ("pipe", "something else than a file")):
            self.use(name)
            with self.assertRaises(Problem) as refused, node_lock(times=True):
                pass
            self.assertIn(f"  got:      {got}\n", refused.exception.text())


class TimeTest(unittest.TestCase):
    """What does not end ends at its time."""

    def test_a_program_ends_with_what_it_started(self):
        ended = run_program(["sh", "-c", "sleep 600 & echo $! >&2; wait"], timeout_s=0.2)
        self.assertTrue(ended.timed_out)
        while Path(words := f"/proc/{int(ended.errors)}/cmdline").exists() and Path(words).read_bytes():
            time.sleep(0.01)  # of one that has ended and nobody waited for it is empty
        self.assertFalse(run_program(["true"], timeout_s=600).timed_out)

    def test_a_judge_that_hangs_is_named(self):
        with (mock.patch.object(programs, "JUDGE_S", 0.2),
              mock.patch.object(programs.programs, "command", lambda _: ["sh", "-c", "exec sleep 600"])):
            for ask in (asked_of_judge, lambda task, request: JudgeOfLines(task).ask(request)):
                with self.assertRaises(Problem) as refused:
                    ask("benchmarks", {})
                self.assertIn("judge benchmarks did not answer within 0.2 s", refused.exception.text())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
