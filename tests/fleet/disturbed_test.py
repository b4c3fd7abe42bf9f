"""Nights that something disturbs: two at once, damage in the store, a full disk, a locked database, inputs that break."""

import json
import os
import sqlite3
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from small_fleet import SmallFleet, expected_objects, faults_of  # noqa: E402

BIN = "build/release/bin"


class Disturbed(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def fleet(self, jobs=6):
        folder = self.folder / "fleet"
        folder.mkdir()
        return SmallFleet(folder, BIN, jobs)

    def night(self, fleet, *more, status=0):
        return json.loads(fleet.run("nightly", "--generate-only", "--format", "json", *more, status=status))

    def test_two_at_once_do_each_job_once(self):
        expected = expected_objects(self.folder / "undisturbed", BIN)
        fleet = self.fleet(10)
        started = [fleet.start("nightly", "--generate-only", "--format", "json") for _ in range(2)]
        told = [process.communicate()[0] for process in started]
        self.assertEqual([process.returncode for process in started], [0, 0])
        self.assertEqual(faults_of(fleet, expected, []), [])
        nights = {json.loads(text)["night"]: json.loads(text) for text in told}
        self.assertEqual(sum(night["made"] for night in nights.values()), 10)
        attempts = fleet.rows("SELECT MAX(attempts) FROM work")[0][0]
        self.assertEqual(attempts, 1)

    def test_unchanged_inputs_are_not_read(self):
        fleet = self.fleet()
        for name in fleet.names:  # as old as traces are in the morning
            os.utime(fleet.folder / "jobs" / name / "et.json.gz", (1e9, 1e9))
        time.sleep(3.1)  # and not just written, by their change time either
        self.assertEqual(self.night(fleet)["made"], 6)
        night = self.night(fleet)
        self.assertEqual((night["unchanged"]["by_time"], night["unchanged"]["by_content"], night["made"]), (6, 0, 0))
        self.assertEqual(fleet.rows("SELECT COUNT(*) FROM work WHERE night = ?", night["night"])[0][0], 0)
        os.utime(fleet.folder / "jobs" / fleet.names[0] / "et.json.gz", (2e9, 1e9))
        night = self.night(fleet)
        self.assertEqual((night["unchanged"]["by_time"], night["unchanged"]["by_content"], night["made"]), (5, 1, 0))

    def test_what_breaks_is_named_once_and_mended(self):
        fleet = self.fleet()
        self.night(fleet)
        victim = fleet.folder / "jobs" / fleet.names[2] / "et.json.gz"
        whole = victim.read_bytes()
        victim.write_bytes(whole[: len(whole) // 2])
        night = self.night(fleet, status=1)
        self.assertEqual([row["job"] for row in night["broken"]], [fleet.names[2]])
        self.assertEqual(night["made"], 0)
        night = self.night(fleet)  # told once; the exit status is of what is new
        self.assertEqual(night["broken"], [])
        self.assertEqual([(row["job"], row["since_night"]) for row in night["still_broken"]], [(fleet.names[2], 2)])
        victim.write_bytes(whole)
        night = self.night(fleet)
        self.assertEqual((night["broken"], night["still_broken"]), ([], []))

    def test_a_missing_job_harms_no_other(self):
        fleet = self.fleet()
        (fleet.folder / "jobs" / fleet.names[0] / "et.json.gz").unlink()
        night = self.night(fleet, status=1)
        self.assertEqual([row["job"] for row in night["broken"]], [fleet.names[0]])
        self.assertEqual(night["made"], 5)
        night = self.night(fleet)
        self.assertEqual([row["job"] for row in night["still_broken"]], [fleet.names[0]])

    def test_a_damaged_object_is_named_and_made_anew(self):
        fleet = self.fleet()
        self.night(fleet)
        found = fleet.objects()[fleet.names[1]]
        path = fleet.store / "objects" / found[:2] / found[2:]
        whole = path.read_bytes()
        path.write_bytes(b"x" + whole[1:])
        verify = json.loads(fleet.run("verify", "--format", "json", "--quiet", status=1))
        self.assertEqual([(row["object"], row["what"]) for row in verify["faults"]], [(found, "damaged")])
        night = json.loads(fleet.run("nightly", "--format", "json", "--iterations", "1", "--oversubscribe", status=1)) if self.can_replay() else None
        if night is None:
            path.unlink()
        else:
            self.assertEqual([row["job"] for row in night["broken"]], [fleet.names[1]])
            self.assertEqual(night["replayed"], 5)
        self.night(fleet)
        self.assertEqual(path.read_bytes(), whole)
        fleet.run("verify")

    def test_a_job_that_broke_is_replayed_with_what_it_had(self):
        if not self.can_replay():
            self.skipTest("no replay was built")
        fleet = self.fleet(2)
        self.night(fleet)
        victim = fleet.folder / "jobs" / fleet.names[0] / "et.json.gz"
        whole = victim.read_bytes()
        for damage in (lambda: victim.write_bytes(whole[:100]), victim.unlink):  # comes again; may pass
            damage()
            for _ in range(2):
                night = json.loads(fleet.run("nightly", "--format", "json", "--iterations", "1", status=None))
                self.assertEqual((night["made"], night["replayed"], night["skipped"]), (0, 2, []), night)

    def test_a_benchmark_that_two_jobs_have_is_replayed_once(self):
        if not self.can_replay():
            self.skipTest("no replay was built")
        fleet = self.fleet(2)
        fleet.run("add", str(fleet.folder / "jobs" / fleet.names[0]), "--name", "twin", "--flags=--exclude ^nothing$")
        for made in (3, 0):
            night = json.loads(fleet.run("nightly", "--format", "json", "--iterations", "1", status=None))  # it may be slower
            self.assertEqual((night["made"], night["replayed"], night["broken"]), (made, 2, []))
        self.assertEqual(fleet.rows("SELECT COUNT(*) FROM work WHERE kind = 'replay'"), [(4,)])
        report, platform = fleet.rows("SELECT report, platform FROM result WHERE benchmark_hash = (SELECT benchmark_hash FROM benchmark b "
                                      "JOIN job j ON j.benchmark = b.id WHERE j.name = 'twin') AND night = 2")[0]
        (fleet.store / "objects" / report[:2] / report[2:]).unlink()
        faults = json.loads(fleet.run("verify", "--format", "json", "--quiet", status=1))["faults"]
        self.assertEqual([(fault["what"], fault["of"]) for fault in faults], [("missing", f"report of {fleet.names[0]} on {platform}, night 2")])

    @staticmethod
    def can_replay():
        return (Path(BIN) / "replay").exists()

    def test_a_full_disk_is_named_and_passes(self):
        fleet = self.fleet()
        objects = fleet.store / "objects"
        objects.mkdir(exist_ok=True)
        # A store that takes no file: what a full disk does, without a disk of one's own.
        work = fleet.store / "work"
        if work.exists():
            work.rmdir()
        work.write_text("no folder")
        done = fleet.run("nightly", "--generate-only", status=None)
        self.assertNotIn("no alarms", done)
        work.unlink()
        night = self.night(fleet)
        self.assertEqual(night["made"], 6)

    def test_a_locked_database_is_waited_for(self):
        fleet = self.fleet()
        holder = sqlite3.connect(fleet.url, isolation_level=None, check_same_thread=False)
        holder.execute("BEGIN IMMEDIATE")
        begin = time.monotonic()
        threading.Timer(3, lambda: holder.execute("ROLLBACK")).start()
        self.assertEqual(self.night(fleet)["made"], 6)
        self.assertGreater(time.monotonic() - begin, 2)
        holder.close()

    def test_a_night_of_a_machine_that_is_gone_is_closed(self):
        fleet = self.fleet()
        self.night(fleet)
        with sqlite3.connect(fleet.url) as connection:
            connection.execute("INSERT INTO night (opened_utc, state, jobs, unchanged) VALUES ('', 'open', 6, 6)")
            connection.execute("INSERT INTO night_platform VALUES (2, 'gone')")
            connection.execute("INSERT INTO work (night, kind, subject, platform, attempts) VALUES (2, 'replay', 1, 'gone', 0), (2, 'replay', 2, 'gone', 1)")
        night = self.night(fleet)
        self.assertEqual(night["night"], 2)
        self.assertEqual(len(night["not_run"]), 2)

    def test_what_may_pass_is_tried_each_night_and_told_once(self):
        fleet = self.fleet(1)
        with unittest.mock.patch.dict(os.environ, UNDERSTUDY_MAX_INPUT="10"):
            self.assertEqual([row["job"] for row in self.night(fleet, status=1)["broken"]], fleet.names)
            night = self.night(fleet)
        self.assertEqual((night["broken"], [row["job"] for row in night["still_broken"]]), ([], fleet.names))
        self.assertEqual(fleet.rows("SELECT COUNT(*) FROM work WHERE outcome = 'still broken'")[0][0], 1)

    def test_flags_that_write_elsewhere_are_refused(self):
        fleet = self.fleet(2)
        job = str(fleet.folder / "jobs" / fleet.names[0])
        outside = self.folder / "outside"
        for flags in (f"--emit {outside}", f"-o {outside}", f"--chakra={outside}", f"--only comms {outside}",
                      "--version"):
            done = fleet.run_whole("add", job, f"--flags={flags}")
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn("flags that a job cannot have", done.stderr)
        fleet.run("add", job, "--flags=--subgraph a b --profile=x --obfuscate --step 3")
        fleet.write("UPDATE job SET flags = ? WHERE name = ?", json.dumps(["--chakra", str(outside)]), fleet.names[0])  # a database that a stranger wrote
        night = self.night(fleet, status=1)
        self.assertEqual([row["job"] for row in night["broken"]], [fleet.names[0]])
        self.assertIn("flags that a job cannot have", night["broken"][0]["text"])
        self.assertFalse(outside.exists())

    def test_values_that_nobody_wrote_are_damage_and_no_bug(self):
        fleet = self.fleet(2)
        self.night(fleet)
        for statement, command in (("UPDATE job SET flags = 'x'", "jobs"), ("UPDATE job SET weight = 'heavy'", "jobs"),
                                   ("UPDATE night SET summary = 'x'", "history")):
            with sqlite3.connect(fleet.url) as connection:
                before = connection.execute("SELECT flags, weight FROM job").fetchone()
                connection.execute(statement)
            done = fleet.run_whole(command, "--format", "json")
            self.assertEqual(done.returncode, 65, done.stderr)
            self.assertIn("the fleet's database is damaged", done.stderr)
            with sqlite3.connect(fleet.url) as connection:
                connection.execute("UPDATE job SET flags = ?, weight = ?", before)

    def test_a_step_whose_worker_was_killed_is_gone_on_with(self):
        fleet = self.fleet()
        self.night(fleet)
        with sqlite3.connect(fleet.url) as connection:
            connection.execute("INSERT INTO night (opened_utc, state, jobs, unchanged) VALUES ('', 'open', 6, 5)")
            connection.execute("INSERT INTO work (night, kind, subject, platform, attempts) VALUES (2, 'generate', 1, '', 1)")
        night = self.night(fleet)
        self.assertEqual((night["night"], night["unchanged"]["by_content"]), (2, 1))


if __name__ == "__main__":
    BIN = sys.argv.pop(1)
    unittest.main()
