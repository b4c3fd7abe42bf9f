"""Nights of a fleet on PostgreSQL, which several machines share."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from postgres_server import Server  # noqa: E402
from small_fleet import SmallFleet  # noqa: E402

BIN = "build/release/bin"
JOBS = 6


class PostgresTest(unittest.TestCase):
    def setUp(self):
        self.server = Server(self.enterContext(tempfile.TemporaryDirectory()))
        self.addCleanup(self.server.stop)
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.fleet = SmallFleet(self.folder, BIN, JOBS, url=self.server.new_database("fleet"))

    def night(self):
        return json.loads(self.fleet.run("nightly", "--generate-only", "--format", "json"))

    def test_two_share_a_night_and_the_next_finds_nothing(self):
        running = [self.fleet.start("nightly", "--generate-only", "--format", "json") for _ in range(2)]
        told = [worker.communicate() for worker in running]
        self.assertEqual([worker.returncode for worker in running], [0, 0], told)
        self.assertEqual([json.loads(output)["made"] for output, _ in told], [JOBS, JOBS])
        self.assertEqual(self.server.sql("fleet", "SELECT COUNT(*) FROM work WHERE attempts > 1 OR outcome IS NULL"), [("0",)])
        self.assertEqual(sum(self.night()["unchanged"].values()), JOBS)
        self.fleet.put("job001", "dropout")
        self.assertEqual([row["job"] for row in self.night()["changed"]], ["job001"])
        self.fleet.run("verify")
        self.fleet.run("report", "-o", str(self.folder / "site"), "-q")
        self.assertIn("night-3.html", {path.name for path in (self.folder / "site").iterdir()})

    def test_who_locks_a_table_is_waited_for(self):
        self.night()
        self.fleet.put("job002", "autocast")
        holds = subprocess.Popen(self.server.client("fleet", "BEGIN; LOCK TABLE work; SELECT pg_sleep(3); COMMIT"), stdout=subprocess.DEVNULL)
        self.assertEqual(self.night()["made"], 1)
        self.assertEqual(holds.wait(), 0)

    def test_its_own_tools_copy_it(self):
        done = self.fleet.run_whole("gc", "--backup", str(self.folder / "copy.db"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("  hint:     pg_dump\n", done.stderr)

    def test_an_address_is_shown_without_its_password(self):
        done = subprocess.run([f"{BIN}/fleet", "jobs", "postgresql://me:secret@%2Fnowhere/fleet"], capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("  file:     postgresql://me:***@%2Fnowhere/fleet\n", done.stderr)
        self.assertNotIn("secret", done.stderr)


if __name__ == "__main__":
    BIN = sys.argv.pop(1)
    unittest.main()
