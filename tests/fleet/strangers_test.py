"""A database that a stranger hands over: it starts nothing, and nothing is written or deleted where it says."""

import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from small_fleet import SmallFleet  # noqa: E402

BIN = "build/release/bin"


class Strangers(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.fleet = SmallFleet(self.folder, BIN, 1)
        self.mark = self.folder / "MARK"

    def open_night(self, ranks=1):
        """A night that waits for a replay, as the stranger wrote it into the database."""
        self.fleet.run("nightly", "--generate-only", "--platform", "p")
        self.fleet.write("DELETE FROM night_platform")
        self.fleet.write("INSERT INTO night (opened_utc, state, jobs, unchanged) VALUES ('2026-11-26T21:01:58Z', 'open', 1, 0)")
        self.fleet.write("UPDATE benchmark SET world_size = ?", ranks)

    def worker(self, *more):
        return self.fleet.run_whole("worker", "--platform", "p", "--quiet", "--iterations", "1", "--oversubscribe", *more)

    def outcomes(self):
        return [row[0] for row in self.fleet.rows("SELECT outcome FROM work WHERE kind = 'replay' ORDER BY id")]

    def launcher(self):
        program = self.folder / "launcher"
        program.write_text(f'#!/bin/sh\ntouch {self.mark}\nexec "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        return str(program)

    def test_the_own_launcher_is_started(self):
        self.open_night(ranks=2)
        done = self.worker("--launcher", self.launcher())
        self.assertEqual((done.returncode, done.stderr, self.outcomes()), (0, "", ["replayed"]))
        self.assertTrue(self.mark.exists())

    def test_the_own_flags_are_given_to_replay(self):
        self.open_night()
        done = self.worker("--replay-flags", f"--operator-times {self.mark}")
        self.assertEqual((done.returncode, done.stderr, self.outcomes()), (0, "", ["replayed"]))
        self.assertTrue(self.mark.exists())

    def test_slurm_is_given_the_own_launcher_and_flags(self):
        tools = self.folder / "tools"
        tools.mkdir()
        (tools / "sbatch").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {self.mark}\necho Submitted\n', encoding="utf-8")
        (tools / "sbatch").chmod(0o755)
        variables = {**self.fleet.variables(), "PATH": f"{tools}:{os.environ['PATH']}"}
        words = self.fleet.words("nightly", "--engine", "slurm", "--quiet", "--launcher", "srun -n {ranks}", "--replay-flags", "--threads 1")
        wrapped = []
        with subprocess.Popen(words, env=variables, stderr=subprocess.DEVNULL) as night:  # it would wait for workers
            while len(wrapped) < 2 and night.poll() is None:
                time.sleep(0.1)
                lines = self.mark.read_text(encoding="utf-8").splitlines() if self.mark.exists() else []
                wrapped = [line for line in lines if line.startswith("--wrap=")]
            night.kill()
        self.assertEqual(len(wrapped), 2)
        for line in wrapped:
            self.assertIn(" '--launcher' 'srun -n {ranks}' '--replay-flags' '--threads 1' '--timeout' '1800' '--slower-by' '3'", line)

    def name_store(self, folder):
        self.fleet.write("UPDATE setting SET value = ? WHERE name = 'store'", str(folder))

    def refused(self, folder, got):
        return (1, "fleet: the fleet's store is not where its database says\n"
                f"  file:     {folder}\n  expected: a folder with the fleet's id in a file understudy-store\n  got:      {got}\n"
                "  hint:     name its folder: understudy fleet init DATABASE --store DIR\n")  # fmt: skip

    def test_nothing_is_deleted_in_a_folder_that_the_database_names(self):
        home = self.folder / "home"
        files = [home / name for name in ("work/thesis/chapter.tex", "work/notes.txt", "objects/ball.obj", f"objects/ab/{'c' * 62}", f"objects/ab/{'c' * 30}")]
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("mine", encoding="utf-8")
            os.utime(file, (1e9, 1e9))
        self.name_store(home)
        for command in ("gc", "verify", "nightly"):
            done = self.fleet.run_whole(command)
            self.assertEqual((done.returncode, done.stderr), self.refused(home, "none"), command)
        self.assertTrue(all(file.exists() for file in files))

    def test_nothing_is_deleted_in_the_store_of_another_fleet(self):
        (self.folder / "other").mkdir()
        other = SmallFleet(self.folder / "other", BIN, 1)
        other.run("nightly", "--generate-only")
        self.name_store(other.store)
        done = self.fleet.run_whole("gc")
        self.assertEqual((done.returncode, done.stderr), self.refused(other.store, "another fleet's store"))
        self.assertEqual(other.run("verify"), "1 objects, 0 that nothing refers to\nAll are whole.\n")

    def test_no_link_of_the_store_is_followed(self):
        mine = self.folder / "mine"
        (self.fleet.store / "work").mkdir()
        mine.mkdir()
        for number in range(1, 5):
            (self.fleet.store / "work" / str(number)).symlink_to(mine)
        self.fleet.run("nightly", "--generate-only")
        self.assertEqual(list(mine.iterdir()), [])
        (self.fleet.store / "work" / "2.lock").symlink_to(mine / "made")
        done = self.fleet.run_whole("nightly", "--generate-only", "--regenerate")
        self.assertIn("the store cannot be written\n", done.stderr)
        self.assertEqual(list(mine.iterdir()), [])

    def test_gc_deletes_what_the_own_store_does_not_need(self):
        self.fleet.run("nightly", "--generate-only")
        self.fleet.put("job000", "lstm")
        self.fleet.run("nightly", "--generate-only")
        self.fleet.run("remove", "job000")
        for path in self.fleet.store.rglob("*"):
            os.utime(path, (1e9, 1e9))
        left = self.fleet.run("gc")
        self.assertTrue(left.startswith("Deleted 2 benchmarks and 0 reports: 2 files, "), left)

    def test_no_folder_is_made_where_the_database_says(self):
        made = self.folder / "made" / "here"
        self.name_store(made)
        for command in ("jobs", "history", "gc", "verify", "worker", "nightly"):
            self.fleet.run_whole(command)
            self.assertFalse(made.exists(), command)
        self.fleet.run("report", "-o", str(self.folder / "site"))
        self.assertFalse(made.exists())

    def test_a_store_is_made_in_no_folder_of_something_else(self):
        (self.folder / "home").mkdir()
        (self.folder / "home" / "notes.txt").write_text("mine", encoding="utf-8")
        done = self.fleet.run_whole("init", "--store", str(self.folder / "home"))
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, f"fleet: the folder cannot become a store\n  file:     {self.folder / 'home'}\n"
                         "  expected: an empty folder, this fleet's store, or a new name\n  got:      a folder with other files\n"
                         "  hint:     choose another place\n")  # fmt: skip

    def journal(self, other=None):
        """A journal that SQLite has to play back; of a stranger, it names another file to delete."""
        Path(self.fleet.url + "-journal").unlink(missing_ok=True)  # or Python's sqlite3 deletes what it names
        pages, magic = self.fleet.rows("PRAGMA page_count")[0][0], bytes.fromhex("d9d505f920a163d7")
        text = magic + struct.pack(">IIIII", 0, 0, pages, 512, 4096) + bytes(484)
        if other:
            name = str(other).encode()
            text += struct.pack(">I", 0x40000000 // 4096 + 1) + name + struct.pack(">II", len(name), sum(name)) + magic
        Path(self.fleet.url + "-journal").write_bytes(text)

    def damaged(self, file, expected, got):
        return (65, f"fleet: the fleet's database is damaged\n  file:     {file}\n  expected: {expected}\n  got:      {got}\n"
                "  hint:     restore the copy that `understudy fleet gc --backup` made\n")  # fmt: skip

    def test_files_beside_the_database_are_its_own(self):
        mine, journal = self.folder / "thesis.tex", self.fleet.url + "-journal"
        mine.write_text("mine", encoding="utf-8")
        for command in ("jobs", "history", "verify", "gc"):
            self.journal(mine)
            done = self.fleet.run_whole(command)
            self.assertEqual((done.returncode, done.stderr),
                             self.damaged(journal, "a plain file of the database", "a journal that names another file to delete"), command)
            self.assertTrue(mine.exists())
        for ending in ("-journal", "-wal", "-shm"):
            Path(journal).unlink(missing_ok=True)
            os.symlink(mine, self.fleet.url + ending)
            done = self.fleet.run_whole("jobs")
            os.unlink(self.fleet.url + ending)
            self.assertEqual((done.returncode, done.stderr),
                             self.damaged(self.fleet.url + ending, "a plain file of the database", "something else"))
        self.journal()
        self.assertIn("job000", self.fleet.run("jobs"))
        self.assertFalse(Path(journal).exists())

    def test_a_folder_that_others_can_write(self):
        for mode, refused in ((0o777, True), (0o1777, True), (0o755, False)):  # in a sticky one others make a journal, too
            self.folder.chmod(mode)
            done = self.fleet.run_whole("jobs")
            self.assertEqual((done.returncode, done.stderr), (
                2, f"fleet: the fleet's database cannot be opened\n  file:     {self.fleet.url}\n  expected: a folder that no other user can write\n"
                f"  got:      {self.folder}, which others can\n  hint:     several users share a fleet on PostgreSQL: postgresql://…\n") if refused
                else (0, ""))  # fmt: skip

    def test_pages_that_show_one_leaf_again_and_again(self):
        for number in range(20):
            self.fleet.write("INSERT INTO job (name, path, weight, flags, added_utc) VALUES (?, 'p', 1, '[]', '')", f"more{number}")
        self.fleet.rows("PRAGMA journal_mode = DELETE")
        root = self.fleet.rows("SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_job_1'")[0][0]
        whole = Path(self.fleet.url).read_bytes()
        pages = [bytearray(whole[at:at + 4096]) for at in range(0, len(whole), 4096)]
        at = struct.unpack_from(">H", pages[root - 1], 8)[0]
        entry = pages[root - 1][at:at + 1 + pages[root - 1][at]]
        for children, most in ((2, 1 << 10), (150, 1 << 19)):
            tree = [pages[root - 1]]
            for _ in range(2):
                cell = struct.pack(">I", len(pages) + len(tree)) + entry
                page = bytearray(struct.pack(">BHHHBI", 2, 0, children, 4096 - children * len(cell), 0, len(pages) + len(tree)))
                page += b"".join(struct.pack(">H", 4096 - (number + 1) * len(cell)) for number in range(children))
                tree.append(page + bytes(4096 - len(page) - children * len(cell)) + cell * children)
            made = pages[:root - 1] + [tree.pop()] + pages[root:] + tree
            struct.pack_into(">I", made[0], 28, len(made))
            Path(self.fleet.url).write_bytes(b"".join(made))
            done = self.fleet.run_whole("jobs")
            if children == 2:
                self.assertEqual((done.returncode, done.stdout.count("more7 ")), (0, 9), done.stderr)
            else:
                self.assertEqual(done.returncode, 65)
                self.assertRegex(done.stderr, "expected: rows that a file of its size can hold\n  got:      more than [0-9]+ in one table\n")
            self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, most + (1 << 20))  # KiB; it took 1.4 GiB

    def test_a_schema_of_tables_alone(self):
        for made, dropped in (("VIEW v AS SELECT 1", "VIEW v"), ("TRIGGER t INSERT ON job BEGIN DELETE FROM job; END", "TRIGGER t")):
            self.fleet.write(f"CREATE {made}")
            done = self.fleet.run_whole("jobs")
            self.assertEqual((done.returncode, done.stderr), self.damaged(self.fleet.url, "tables and indices alone", dropped[-1]))
            self.fleet.write(f"DROP {dropped}")
        self.fleet.write("CREATE TABLE notes (text)")
        self.assertIn("job000", self.fleet.run("jobs"))

    def test_a_summary_that_no_night_wrote(self):
        self.fleet.run("nightly", "--generate-only")
        own = self.fleet.rows("SELECT summary FROM night")[0][0]
        for summary, status in (('{"unchanged": 7}', 65), (own, 0)):
            self.fleet.write("UPDATE night SET summary = ?", summary)
            done = self.fleet.run_whole("report", "-o", str(self.folder / "site"))
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertTrue(status == 0 or done.stderr.startswith("fleet: the fleet's database is damaged\n"), done.stderr)

    def test_a_path_that_reads_as_a_flag_is_a_path(self):
        os.link(self.folder / "jobs" / "job000" / "et.json.gz", self.folder / "--version")
        self.fleet.write("UPDATE job SET path = '--version'")
        words = [str(Path(BIN).resolve() / "fleet"), *self.fleet.words("nightly", "--generate-only", "--format", "json")[1:]]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=False, env=self.fleet.variables())
        self.assertEqual((done.returncode, json.loads(done.stdout)["made"]), (0, 1), done.stderr)


if __name__ == "__main__":
    BIN = sys.argv.pop(1)
    unittest.main()
