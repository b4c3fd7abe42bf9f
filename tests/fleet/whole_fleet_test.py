"""Nights of a fleet of every sample and test capture: the first, one without a change, one where five changed and one broke."""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = "build/release/bin"


class WholeFleet(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.url = str(self.folder / "fleet.db")
        self.fleet("init", "--store", str(self.folder / "store"))
        self.captures = []
        for capture in sorted((ROOT / "tests" / "captures").glob("*.json.gz")):
            self.captures.append(capture.name.removesuffix(".json.gz"))
            self.put(self.captures[-1], capture)
        self.samples = [path.parent for path in sorted((ROOT / "fleet_samples").glob("*/manifest.json"))]
        self.fleet("add", str(self.folder / "jobs"))
        for sample in self.samples:
            self.fleet("add", str(sample), "--name", f"sample-{sample.name}")
        self.fleet("add", str(ROOT / "fleet_samples" / "dlrm_dense"), "--name", "variant", "--flags", "--exclude aten::relu")

    def put(self, job, trace):
        target = self.folder / "jobs" / job / "et.json.gz"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(trace, target)

    def fleet(self, command, *more, status=0):
        done = subprocess.run([f"{BIN}/fleet", command, self.url, *more], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def night(self, status=0):
        told = json.loads(self.fleet("nightly", "--generate-only", "--format", "json", status=status))
        unchanged = told["unchanged"]["by_time"] + told["unchanged"]["by_content"]
        self.assertEqual(told["jobs"], unchanged + told["made"] + len(told["broken"]))
        return told, {kind: sorted(row["job"] for row in told[kind]) for kind in ("changed", "drifted", "broken")}

    def test_nights(self):
        told, names = self.night(status=1)
        jobs = told["jobs"]
        self.assertGreaterEqual(jobs, 40)
        broken_before = names["broken"]
        self.assertEqual((broken_before, names["changed"]), (["sample-resnet_ddp"], []))  # two jobs in one folder

        told, names = self.night()
        self.assertEqual((told["made"], names), (0, {"changed": [], "drifted": [], "broken": []}))
        self.assertEqual([row["job"] for row in told["still_broken"]], broken_before)

        whole = [name for name in self.captures if name not in broken_before]
        for job, other in zip(whole[:5], whole[5:10]):
            self.put(job, ROOT / "tests" / "captures" / f"{other}.json.gz")
        victim = self.folder / "jobs" / whole[10] / "et.json.gz"
        victim.write_bytes(victim.read_bytes()[:-100])
        told, names = self.night(status=1)
        self.assertEqual((told["made"], names["changed"], names["broken"]), (5, whole[:5], [whole[10]]))
        self.assertIn("All are whole.", self.fleet("verify", "--quiet"))


if __name__ == "__main__":
    BIN = sys.argv.pop(1) if len(sys.argv) > 1 else BIN
    unittest.main()
