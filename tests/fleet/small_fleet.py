"""A fleet of tiny traces for tests: jobs whose content can be changed, and what their benchmarks have to be."""

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT / "tests" / "captures"
TINY = ["label_with_quote", "lstm", "nested_jagged", "wrapped_number", "speech_ctc", "ignore_index", "autocast", "dropout", "graph", "batch_norm"]


def documents(html):
    """Returns what a page shows and the result that it is of, the two documents in its HTML."""
    texts = re.findall(r'<script type="application/json" id="(?:page|data)">(.*?)</script>', html, re.DOTALL)
    return [json.loads(text) for text in texts]


class SmallFleet:
    """A database, a store and `jobs` folders with a trace each. Each job holds one of TINY."""

    def __init__(self, folder, bin_folder, jobs, url=None, store=None):
        self.folder = Path(folder)
        self.bin = Path(bin_folder)
        self.url = url or str(self.folder / "fleet.db")
        self.store = store or self.folder / "store"
        self.lock = self.folder / "node.lock"
        self.names = [f"job{number:03d}" for number in range(jobs)]
        self.content = {}
        for number, name in enumerate(self.names):
            self.put(name, TINY[number % len(TINY)])
        self.run("init", "--store", str(self.store))
        self.run("add", str(self.folder / "jobs"))

    def put(self, name, trace):
        """Gives a job another trace, as a trainer would: a new file in the place of the old one."""
        target = self.folder / "jobs" / name / "et.json.gz"
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(".new")
        shutil.copyfile(CAPTURES / f"{trace}.json.gz", beside)
        os.replace(beside, target)
        self.content[name] = trace

    def words(self, command, *more):
        return [str(self.bin / "fleet"), command, self.url, *more]

    def variables(self):
        return {**os.environ, "UNDERSTUDY_PROGRESS": "off", "UNDERSTUDY_NODE_LOCK": str(self.lock)}

    def run_whole(self, command, *more):
        return subprocess.run(self.words(command, *more), capture_output=True, text=True, check=False, env=self.variables())

    def run(self, command, *more, status=0):
        done = self.run_whole(command, *more)
        if status is not None and done.returncode != status:
            raise AssertionError(f"{command} {more}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def start(self, command, *more):
        return subprocess.Popen(self.words(command, *more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.variables())

    def rows(self, sql, *parameters):
        with contextlib.closing(sqlite3.connect(self.url, timeout=60)) as connection:
            return connection.execute(sql, parameters).fetchall()

    def write(self, sql, *parameters):
        with contextlib.closing(sqlite3.connect(self.url, timeout=60)) as connection, connection:
            connection.execute(sql, parameters)

    def closed_nights(self):
        return self.rows("SELECT COUNT(*) FROM night WHERE state = 'closed'")[0][0]

    def objects(self):
        """By job: the object of its benchmark."""
        return dict(self.rows("SELECT j.name, b.object FROM job j JOIN benchmark b ON b.id = j.benchmark"))


def expected_objects(folder, bin_folder):
    """By trace: the object that its benchmark is, by a fleet that nobody disturbed."""
    Path(folder).mkdir(parents=True)
    fleet = SmallFleet(folder, bin_folder, len(TINY))
    fleet.run("nightly", "--generate-only")
    return {fleet.content[name]: found for name, found in fleet.objects().items()}


def faults_of(fleet, expected, changed, since=0):
    """What is not as it has to be after nights that were gone on with; behind night `since`, `changed` jobs changed."""
    faults = []
    found = fleet.objects()
    for name in fleet.names:
        if found.get(name) != expected[fleet.content[name]]:
            faults.append(f"{name}: another benchmark than of {fleet.content[name]}")
    open_nights = fleet.rows("SELECT COUNT(*) FROM night WHERE state = 'open'")[0][0]
    if open_nights:
        faults.append(f"{open_nights} nights open")
    left = fleet.rows("SELECT COUNT(*) FROM work WHERE outcome IS NULL")[0][0]
    if left:
        faults.append(f"{left} pieces of work not done")
    events = [row[0] for row in fleet.rows("SELECT job FROM event WHERE night > ? AND kind = 'changed' ORDER BY job", since)]
    if events != sorted(changed):
        faults.append(f"told as changed: {events}, not {sorted(changed)}")
    broken = fleet.rows("SELECT job, text FROM event WHERE kind = 'broken'")
    if broken:
        faults.append(f"broken: {broken}")
    verify = json.loads(fleet.run("verify", "--format", "json", "--quiet", status=None))
    if verify["faults"]:
        faults.append(f"store: {verify['faults']}")
    return faults
