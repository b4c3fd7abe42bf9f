"""What the pages of `fleet report` tell of nights: nothing of the morning's news is missing, old or at the end of the list."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from small_fleet import SmallFleet, documents  # noqa: E402

BIN = "build/release/bin"


class Site(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.fleet = SmallFleet(self.folder / "fleet", BIN, 6)
        for _ in range(3):
            self.fleet.run("nightly", "--generate-only", "-q")

    def put_event(self, night, kind, job, text, detail="{}"):
        self.fleet.write("INSERT INTO event (night, kind, job, benchmark_hash, platform, text, detail) VALUES (?, ?, ?, ?, 'p', ?, ?)",
                         night, kind, job, self.hash_of(job), text, detail)

    def put_results(self, job, figures, turns_at=99):
        for name, threads in (("e", 2), ("f", 1)):
            self.fleet.write("INSERT INTO environment (hash, software, json) VALUES (?, 'torch 1', ?) ON CONFLICT DO NOTHING",
                             name, json.dumps({"threads": threads, "versions": {"torch": "1"}, "settings": {}}))
        self.fleet.write("INSERT INTO platform VALUES ('p') ON CONFLICT DO NOTHING")
        for night, ms in enumerate(figures, 1):
            self.fleet.write("INSERT INTO result (benchmark_hash, platform, environment, night, date_utc, source, median_ms, low_ms, high_ms, "
                             "coverage, peak_bytes, classes) VALUES (?, 'p', ?, ?, '2026-01-01T00:00:00Z', 'replay', ?, ?, ?, 1, 1, '{}')",
                             self.hash_of(job), 1 if night < turns_at else 2, night, ms, ms * 0.99, ms * 1.01)

    def tell(self, key, rows):
        """Puts rows into the newest night's summary, as a night that found them has them."""
        summary = json.loads(self.fleet.rows("SELECT summary FROM night WHERE id = 3")[0][0])
        summary[key] = rows
        self.fleet.write("UPDATE night SET summary = ? WHERE id = 3", json.dumps(summary))

    def hash_of(self, job):
        return self.fleet.rows("SELECT benchmark_hash FROM benchmark b JOIN job j ON j.benchmark = b.id WHERE j.name = ?", job)[0][0]

    def page(self, name):
        self.fleet.run("report", "-o", str(self.folder / "site"), "-q")
        html = next((self.folder / "site").glob(name)).read_text()
        page, data = documents(html)
        return page["verdict"], data

    def test_what_got_slower_stands_first_with_its_news(self):
        for night, kind, job in ((1, "changed", 4), (3, "faster", 1), (3, "slower", 4), (3, "unjudged", 2), (3, "broken", 5), (2, "slower", 3)):
            self.put_event(night, kind, f"job00{job}", f"{kind} in night {night}")
        _, data = self.page("index.html")
        self.assertEqual([(job["name"], job["state"], job["note"]) for job in data["jobs"]],
                         [("job005", "broken", "night 3: broken in night 3"), ("job004", "slower", "night 3: slower in night 3"),
                          ("job001", "faster", "night 3: faster in night 3"), ("job002", "unjudged", "night 3: unjudged in night 3"),
                          ("job000", "ok", ""), ("job003", "ok", "")])

    def test_a_series_that_turned_is_news_of_the_night_that_found_it(self):
        self.put_event(1, "change point", "job002", "1.20 times as long")
        self.tell("change_points", [{"job": "job002", "platform": "p", "night": 1, "text": "1.20 times as long", "is_slower": False, "told_in_night": None}])
        self.tell("unjudged", [{"job": "job003", "platform": "p", "text": "busy"}])
        verdict, data = self.page("index.html")
        self.assertRegex(verdict, r"^Night 3: 1 turned, 1 not judged\. 6 jobs: \d unchanged by their files' times, \d by content, 0 rebuilt; 0 replayed\.$")
        self.assertEqual([(event["job"], event["kind"], event["text"]) for event in data["events"]], [("job002", "change point", "1.20 times as long")])
        self.assertEqual((data["jobs"][0]["name"], data["jobs"][0]["state"]), ("job002", "change point"))
        self.assertEqual([(night["turned"], night["unjudged"]) for night in data["nights"]], [(1, 1), (0, 0), (0, 0)])
        verdict, _ = self.page("night-3.html")
        self.assertRegex(verdict, r"^6 jobs: \d unchanged by their files' times, \d by content, 0 rebuilt; 0 replayed\.$")

    def otava_that_finds(self, index):
        python = self.folder / "otava"
        python.write_text(f'#!/usr/bin/env python3\nimport json, sys\njson.dump([[{{"index": {index}, "p": 0.001}}]], open(sys.argv[-1], "w"))\n')
        python.chmod(0o755)
        return str(python)

    def night(self, index, status):
        return json.loads(self.fleet.run("nightly", "--generate-only", "--format", "json", "--otava", self.otava_that_finds(index), status=status))

    def test_a_series_that_got_slower_is_told_once_and_ends_with_status_1(self):
        self.put_results("job001", [10] * 4 + [12] * 5, turns_at=5)
        points = self.night(4, status=1)["change_points"]
        self.assertEqual([(point["job"], point["night"], point["is_slower"], point["told_in_night"], point["text"]) for point in points],
                         [("job001", 5, True, None, "1.20 times as long since night 5: 10.000 → 12.000 ms; with it changed threads 2 → 1")])
        self.assertEqual(self.night(4, status=0)["change_points"], [])
        self.assertEqual(self.night(5, status=0)["change_points"], [])  # one more night, and the point is placed beside where it was

    def test_a_series_whose_slow_night_was_told_is_no_news(self):
        self.put_results("job001", [10] * 4 + [12] * 5)
        self.put_event(5, "slower", "job001", "1.20 times as long as before")
        points = self.night(4, status=0)["change_points"]
        self.assertEqual([(point["job"], point["told_in_night"]) for point in points], [("job001", 5)])

    def test_jobs_of_one_benchmark_have_its_news(self):
        self.fleet.run("add", str(self.fleet.folder / "jobs" / "job001"), "--name", "twin", "--flags=--exclude ^nothing$")
        self.fleet.run("nightly", "--generate-only", "-q")
        self.put_event(4, "slower", "job001", "1.40 times as long as before; " + "and " * 99)
        _, data = self.page("index.html")
        self.assertEqual([(job["name"], job["state"]) for job in data["jobs"][:3]], [("job001", "slower"), ("twin", "slower"), ("job000", "ok")])
        self.assertEqual(data["jobs"][1]["note"], "night 4: 1.40 times as long as before; " + "and " * 32 + "…")
        _, data = self.page("job-twin-*.html")
        self.assertEqual([event["job"] for event in data["events"]], ["job001"])

    def test_a_first_result_is_no_series_and_calls_are_no_time(self):
        self.put_results("job001", [10])
        verdict, _ = self.page("job-job001-*.html")
        self.assertEqual(verdict, "10.00 ms an iteration on p in night 1; its first result.")
        self.assertIn("Share of the calls by class: the traces have no times.", next((self.folder / "site").glob("job-job001-*.html")).read_text())

    def test_a_slower_night_is_no_series_without_change(self):
        self.put_results("job001", [10, 10, 14])
        self.put_event(3, "slower", "job001", "1.40 times as long as before: matmul 1.9 times", '{"ratio":1.4}')
        verdict, data = self.page("job-job001-*.html")
        self.assertEqual(verdict, "14.00 ms an iteration on p in night 3; on p 40.0 % longer since night 3.")
        self.assertEqual([(change["index"], change["before_ms"], change["after_ms"]) for change in data["platforms"][0]["changes"]], [(2, 10, 14)])


    def test_what_drifted_is_told_once(self):
        self.put_event(3, "changed", "job001", "classes moved")
        self.put_event(3, "drifted", "job001", "classes moved")
        for name in ("index.html", "job-job001-*.html"):
            _, data = self.page(name)
            self.assertEqual([event["kind"] for event in data["events"]], ["drifted"], name)
        self.assertEqual(self.fleet.run("history", "job001").count("classes moved"), 1)


if __name__ == "__main__":
    BIN = sys.argv.pop(1) if len(sys.argv) > 1 else BIN
    unittest.main()
