"""The lock of a node: many may compute, whoever times replays is alone. `suite` has the same in C++ (tests/unit/fleet/process)."""

import fcntl
import os
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "capture"), str(ROOT / "fleet")]
from understudy_fleet.problems import Problem  # noqa: E402
from understudy_fleet.programs import node_lock  # noqa: E402


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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
