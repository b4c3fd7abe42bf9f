"""Nights on a disk that is full, a small one of memory: what does not fit is named, nothing is damaged, and with room the night is finished."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from small_fleet import SmallFleet, expected_objects  # noqa: E402

BIN = "build/release/bin"
INSIDE = "UNDERSTUDY_TEST_HAS_MOUNTS"
JOBS = 10


class FullDisk(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.disk = self.folder / "disk"
        self.disk.mkdir()

    def mount(self, size):
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode=700,size={size}", "tmpfs", self.disk], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", self.disk], check=True)  # Python keeps the database open

    def make_room(self):
        # With the source named, mount does not repeat what it was mounted with: a user's own number is unknown in the namespace.
        subprocess.run(["mount", "-o", "remount,mode=700,size=64m", "tmpfs", self.disk], check=True)

    def night(self, fleet):
        return subprocess.run(fleet.words("nightly", "--generate-only"), capture_output=True, text=True, check=False, env=fleet.variables())

    def check_with_room(self, fleet):
        fleet.run("verify")  # what is there is whole
        self.make_room()
        done = self.night(fleet)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        expected = expected_objects(self.folder / "undisturbed", BIN)
        self.assertEqual(fleet.objects(), {name: expected[trace] for name, trace in fleet.content.items()})
        self.assertEqual(fleet.rows("SELECT name, broken FROM job WHERE broken IS NOT NULL"), [])
        self.assertEqual(fleet.closed_nights(), fleet.rows("SELECT COUNT(*) FROM night")[0][0])
        fleet.run("verify")

    def test_of_the_store_names_the_jobs_that_do_not_fit(self):
        (self.folder / "fleet").mkdir()
        self.mount("64k")
        fleet = SmallFleet(self.folder / "fleet", BIN, JOBS, store=self.disk / "store")
        done = self.night(fleet)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("No space left on device", done.stdout)
        made = fleet.objects()
        self.assertGreater(len(made), 0)
        self.assertLess(len(made), JOBS)
        for name in set(fleet.names) - set(made):
            self.assertIn(name, done.stdout)
        self.check_with_room(fleet)

    def test_of_the_database_ends_the_night_with_its_name(self):
        self.mount("400k")
        fleet = SmallFleet(self.disk, BIN, JOBS, store=self.folder / "store")
        done = self.night(fleet)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn(f"fleet: the fleet's database failed\n  file:     {fleet.url}\n  got:      database or disk is full\n", done.stderr)
        self.check_with_room(fleet)


def main():
    """In a namespace of its own, where a user may mount."""
    inside = ["unshare", "--map-root-user", "--mount"]
    if subprocess.run([*inside, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False).returncode != 0:
        print("[  SKIPPED ] fleet.full_disk: this machine lets nobody mount a disk of memory")
        return
    os.environ[INSIDE] = "1"
    os.execvp(inside[0], [*inside, sys.executable, *sys.argv])


if __name__ == "__main__":
    if INSIDE in os.environ:
        BIN = sys.argv.pop(1)
        unittest.main()
    else:
        main()
