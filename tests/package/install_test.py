"""The installed package: moved, with the build's environment hidden, from another folder.

Usage: install_test.py BUILD_DIR VERSION, with a Python that has the LibTorch of the build.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
BUILD, VERSION = Path(sys.argv[1]).resolve(), sys.argv[2]
PLAIN_PATH = "/usr/bin:/bin"


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="a prefix "))).resolve()
        first = cls.scratch / "first"
        subprocess.run(["cmake", "--install", BUILD, "--prefix", first], check=True,
                       stdout=subprocess.DEVNULL)
        cls.prefix = cls.scratch / "moved"
        first.rename(cls.prefix)
        # The same LibTorch under another name: that of the build is not on any path.
        cls.torch = cls.scratch / "elsewhere" / "torch"
        cls.torch.parent.mkdir()
        cls.torch.symlink_to(Path(torch.__file__).resolve().parent)
        cls.work = cls.scratch / "work"
        cls.work.mkdir()

    def run_installed(self, program, *words, status=0, **variables):
        command = [str(self.prefix / "bin" / program), *map(str, words)]
        done = subprocess.run(command, cwd=self.work, text=True,
                              capture_output=True,
                              env={"PATH": PLAIN_PATH, "HOME": str(self.work), **variables})
        self.assertEqual(done.returncode, status, f"{command}\n{done.stdout}{done.stderr}")
        return done

    def test_no_file_names_a_path_of_the_build(self):
        hidden = [str(path).encode() for path in {ROOT, BUILD, (ROOT / ".venv").resolve(),
                                                  Path(torch.__file__).resolve().parent,
                                                  self.scratch / "first"}]
        for path in self.prefix.rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                for text in hidden:
                    self.assertFalse(text in content, f"{text!r} in {path}")  # the file itself is no message

    def test_nothing_has_a_run_path(self):
        for path in self.prefix.rglob("*"):
            if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
                shown = subprocess.run(["readelf", "-d", path], text=True, capture_output=True)
                self.assertNotRegex(shown.stdout, "R(UN)?PATH", path)

    def test_programs_start_in_an_empty_environment(self):
        for program in ("inspect", "generate", "compare"):
            for command in ([self.prefix / "bin" / "understudy", program], [self.prefix / "libexec" / "understudy" / program]):
                done = subprocess.run([*command, "--version"], env={}, capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stdout), (0, f"understudy {program} {VERSION}\n"))

    def test_predict_finds_the_platforms(self):
        table = self.work / "calls.csv"
        table.write_text("OPName,B,M,N,K,Dtype\nlinear,1,4096,4096,4096,bfloat16\n")
        for card, peak in (("H100", 989.4e12), ("B300", 2250e12)):
            done = self.run_installed("understudy", "predict", "--operators", table, "--card", card)
            ms = float(done.stdout.splitlines()[1].split(",")[6])
            self.assertTrue(1 <= ms * 1e-3 * peak / (2 * 4096**3) <= 2, f"{card}: {ms} ms")

    def test_verbs_that_are_programs_of_their_own(self):
        hidden = {"UNDERSTUDY_TORCH_ROOT": str(self.torch)}
        self.assertEqual(sorted(path.name for path in (self.prefix / "bin").iterdir()),
                         ["replay", "understudy", "understudy-mpirun"])
        done = self.run_installed("understudy", "replay", "--version", **hidden)
        self.assertEqual(done.stdout, f"replay {VERSION}\n")
        done = self.run_installed("understudy", "calibrate", "--only", "matmul", "--budget", "1",
                                  "--threads", "1", "-o", "rows.jsonl", **hidden)
        self.assertRegex(done.stdout, r"^rows\.jsonl: [1-9]\d* rows in")
        fleet = {"UNDERSTUDY_PYTHON": sys.executable}
        self.assertEqual(self.run_installed("understudy", "fleet", "--version", **fleet).stdout, f"understudy fleet {VERSION}\n")
        self.run_installed("understudy", "fleet", "init", "fleet.db", "--store", "store", **fleet)
        self.run_installed("understudy", "fleet", "add", "fleet.db", ROOT / "fleet_samples" / "mlp", **fleet)
        self.assertIn("1 rebuilt", self.run_installed("understudy", "fleet", "nightly", "fleet.db", "--generate-only", **fleet).stdout)
        self.assertEqual(self.run_installed("understudy", "capture", status=2).stderr, (
            "capture: this verb runs in Python\n"
            "  expected: the package's console script, or scripts/capture of a clone\n"
            f"  got:      {self.prefix}/bin/understudy\n"
            "  hint:     pip install the wheel that scripts/wheel makes\n"))
        self.assertEqual(self.run_installed("understudy", "inspekt", status=2).stderr,
                         "understudy: unknown verb inspekt\n"
                         "  expected: calibrate, capture, compare, completion, compose, examples, fleet, "
                         "generate, inspect, operators, predict, replay, shard, suite\n"
                         "  got:      inspekt\n"
                         "  hint:     did you mean inspect?\n")

    @unittest.skipUnless(shutil.which("mpirun"), "no MPI")
    def test_two_ranks_under_the_mpirun_wrapper(self):
        bench = self.work / "two.et"
        self.run_installed("understudy", "generate", ROOT / "fleet_samples" / "gpt_ddp", "-o",
                           bench)
        self.run_installed("understudy-mpirun", "-np", "2", self.prefix / "bin" / "replay", bench,
                           "--torch", self.torch, "--threads", "1", "--iterations", "1",
                           "--report", "two.json")
        self.assertEqual(json.loads((self.work / "two.json").read_text())["world_size"], 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
