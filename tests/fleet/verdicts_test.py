"""What nights, and the pages of the morning, tell of replays whose truth is known: stand_in_replay in the place of replay."""

import json
import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from small_fleet import SmallFleet, documents  # noqa: E402

BIN = "build/release/bin"


class Verdicts(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        programs = self.folder / "bin"  # where fleet looks for programs
        programs.mkdir()
        for name in ("generate", "judge"):
            shutil.copy(Path(BIN) / name, programs / name)
        os.environ["UNDERSTUDY_BIN"] = str(programs)
        tests = Path(__file__).resolve().parents[1]
        shutil.copy(tests / "fleet" / "stand_in_replay", programs / "replay")
        shutil.copy(tests / "report_figures.py", programs)
        self.truth = {"sigma": 0.004, "factors": {}}
        self.truth_file = self.folder / "truth.json"
        os.environ["UNDERSTUDY_TRUTH"] = str(self.truth_file)
        self.fleet = SmallFleet(self.folder / "fleet", BIN, 1)

    def night(self, *more, status=None, **truth):
        runs = json.loads(self.truth_file.read_text())["runs"] if self.truth_file.exists() else 0
        self.truth_file.write_text(json.dumps({**self.truth, **truth, "runs": runs}))
        return json.loads(self.fleet.run("nightly", "--platform", "p", "--format", "json", *more, status=status))

    def told(self, night):
        return [(kind, row["text"]) for kind in ("broken", "slower", "faster", "recovered", "unjudged") for row in night[kind]]

    def page(self, name="job-*.html"):
        self.fleet.run("report", "-o", str(self.folder / "site"), "-q")
        html = next((self.folder / "site").glob(name)).read_text()
        page, data = documents(html)
        return page["tone"], page["verdict"], data

    def quiet(self, nights):
        for _ in range(nights):
            self.assertEqual(self.told(self.night(status=0)), [])

    def test_a_class_that_costs_is_told_in_its_first_night_and_recovers(self):
        self.quiet(5)
        ((kind, text),) = self.told(self.night(status=1, factors={"matmul": 1.25}))
        self.assertEqual(kind, "slower")
        self.assertRegex(text, r"^1\.15 times as long as before: matmul 1\.25 times; operators: aten::mm 1\.25 times$")
        tone, verdict, _ = self.page()
        self.assertEqual(tone, "bad")
        self.assertRegex(verdict, r"; on p 1[45]\.\d % longer since night 6\.$")
        self.assertEqual(self.told(self.night(status=0, factors={"matmul": 1.25})), [])  # told once
        _, _, data = self.page("index.html")
        self.assertEqual([(job["state"], job["note"]) for job in data["jobs"]], [("ok", "")])  # no note of the night before
        ((kind, text),) = self.told(self.night(status=0))
        self.assertEqual(kind, "recovered")
        self.assertRegex(text, r"^0\.87 times as long as before: matmul 0\.80 times; operators: aten::mm 0\.80 times; as before night 6 \(\d+\.\d{3} ms\)$")
        for nights in (0, 2):
            self.quiet(nights)
            tone, verdict, _ = self.page()
            self.assertEqual(tone, "good")
            self.assertRegex(verdict, r"; on p 1[23]\.\d % shorter since night 8, as before it became slower\.$")

    def test_a_step_that_is_longer_all_over_is_told(self):
        self.quiet(9)
        ((kind, text),) = self.told(self.night(status=1, factors={"all": 1.26}))
        self.assertEqual((kind, text[:25]), ("slower", "1.26 times as long as bef"))

    def test_small_ones_too_with_one_night_before_and_with_five(self):
        for nights in (1, 4):
            self.quiet(nights)
            self.assertEqual([kind for kind, _ in self.told(self.night(status=1, factors={"all": 1.04}))], ["slower"])
            self.assertEqual([kind for kind, _ in self.told(self.night(status=0))], ["recovered"])

    def test_a_change_that_passed_untold_is_none_on_the_page(self):
        self.quiet(3)
        self.night(status=1, factors={"all": 1.2})
        self.night(status=0, probe=0.8, factors={"all": 1.0})  # not judged: the machine was as much faster
        tone, verdict, _ = self.page()
        self.assertEqual(tone, "good")
        self.assertRegex(verdict, r"^\d+\.\d+ ms an iteration on p in night 5; on p as before night 4, which was [12]\d\.\d % longer: \d+\.\d+ ms\.$")

    def test_what_is_not_judged_is_never_what_others_are_held_against(self):
        busy = "others interrupted each of our threads 300 times a second; replay on an idle machine$"
        others, machine = {"switches_per_s": 300}, {"probe": 10.15}

        def unjudged(nights, disturbed, said):
            for _ in range(nights):
                ((kind, text),) = self.told(self.night(status=0, factors={"all": 10.15}, **disturbed))
                self.assertEqual(kind, "unjudged")
                self.assertRegex(text, said)

        unjudged(2, others, "^no night before to hold it against, and " + busy)
        self.quiet(1)
        for disturbed, said in ((others, busy), (machine, r"the machine itself took 10\.1\d times as long for its speed probe$")):
            unjudged(7, disturbed, r"^10\.\d\d times as long as before, but " + said)  # more nights than are held against one
            self.quiet(1)  # as before them
            self.assertEqual([kind for kind, _ in self.told(self.night(status=1, factors={"all": 1.26}))], ["slower"])
            self.assertEqual([kind for kind, _ in self.told(self.night(status=0))], ["recovered"])

    def test_a_night_that_could_not_be_judged_is_a_status_of_its_own_where_asked(self):
        for status, disturbed in ((3, {}), (0, {}), (3, {"switches_per_s": 300, "factors": {"all": 10.15}})):
            self.night("--fail-on", "unsure", status=status, **disturbed)

    def test_a_replay_that_fails_counts_until_it_is_mended(self):
        self.quiet(1)
        self.assertEqual([kind for kind, _ in self.told(self.night(status=1, fails="no memory"))], ["broken"])
        for more in ((), ("--generate-only",)):
            text = self.fleet.run("nightly", "--platform", "p", *more) if more else None
            night = self.night(status=0, fails="no memory") if text is None else None
            if text is not None:
                self.assertRegex(text, r"^Night \d+: 1 STILL BROKEN\n")
            else:
                self.assertEqual([row["since_night"] for row in night["still_broken"]], [2])
            tone, verdict, _ = self.page()
            self.assertEqual((tone, verdict), ("bad", "Its replay fails: replay ended with status 1; got: replay: no memory"))
            self.assertEqual(self.page("index.html")[0], "bad")
        self.quiet(1)
        self.assertEqual(self.page()[0], "good")

    def test_bad_replay_flags_are_the_command_lines(self):
        self.quiet(1)
        done = self.fleet.run_whole("nightly", "--platform", "p", "--replay-flags", "--threads 1 --nonsense")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "fleet: flags that replay does not take\n"
                                      "  field:    --replay-flags\n"
                                      "  expected: flags of replay\n"
                                      "  got:      replay: unknown flag --nonsense; hint: replay --help lists the flags\n")  # fmt: skip
        self.assertEqual(self.fleet.closed_nights(), 1)
        self.assertEqual(self.told(self.night("--replay-flags", "--threads 1", status=0)), [])


if __name__ == "__main__":
    BIN = sys.argv.pop(1) if len(sys.argv) > 1 else BIN
    unittest.main()
