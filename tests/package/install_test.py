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
TORCH_VERSION = torch.__version__.split("+")[0]
PLAIN_PATH = "/usr/bin:/bin"
STEPS = 40
SCRIPT = """
import torch
import understudy_capture
model = torch.nn.Linear(64, 64)
for _ in range({steps}):
    model(torch.ones(32, 64)).sum().backward()
    understudy_capture.step()
"""


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="a prefix ")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.scratch = Path(cls.folder.name).resolve()
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
        (cls.work / "train me.py").write_text(SCRIPT.format(steps=STEPS))

    def run_installed(self, program, *words, status=0, python=None, **variables):
        command = [str(self.prefix / "bin" / program), *map(str, words)]
        done = subprocess.run([*([python] if python else []), *command], cwd=self.work, text=True,
                              capture_output=True,
                              env={"PATH": PLAIN_PATH, "HOME": str(self.work), **variables})
        if status is not None:
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
                self.assertEqual((done.returncode, done.stdout), (0, f"{program} {VERSION}\n"))

    def without_torch(self):
        """A PATH whose python3 has no torch, whatever the system's has."""
        folder = self.scratch / "no_torch"
        folder.mkdir(exist_ok=True)
        (folder / "python3").write_text("#!/bin/sh\nexec /usr/bin/python3 -I -S \"$@\"\n")
        (folder / "python3").chmod(0o755)
        return folder

    def test_without_libtorch_it_says_what_to_install(self):
        folder = self.without_torch()
        done = self.run_installed("replay", "--version", status=2, PATH=f"{folder}:{PLAIN_PATH}")
        self.assertEqual((done.stdout, done.stderr), ("", (
            f"replay: LibTorch {TORCH_VERSION} is not found; replay needs it\n"
            f"  searched: {self.prefix}/libtorch\n"
            f"  searched: {self.prefix}/lib/libtorch\n"
            f"  searched: {folder}/python3, which has no torch\n"
            f"  install:  python3 -m pip install torch=={TORCH_VERSION} (a wheel for the CPU or "
            "for CUDA)\n"
            "  or name:  --torch DIR or UNDERSTUDY_TORCH_ROOT=DIR, a folder of a LibTorch or torch "
            f"{TORCH_VERSION} that holds lib/libtorch_cpu.so\n")))

    def test_libtorch_by_option_variable_and_beside(self):
        version = f"replay {VERSION}\n"
        folder = self.without_torch()
        hidden = {"PATH": f"{folder}:{PLAIN_PATH}"}
        for words in (["--torch", self.torch, "--version"], [f"--torch={self.torch}", "--version"]):
            done = self.run_installed("replay", *words, **hidden)
            self.assertEqual(done.stdout, version)
        done = self.run_installed("replay", "--version", UNDERSTUDY_TORCH_ROOT=str(self.torch),
                                  **hidden)
        self.assertEqual(done.stdout, version)
        for beside in (self.prefix / "libtorch", self.prefix / "lib" / "libtorch"):
            beside.symlink_to(self.torch)
            try:
                self.assertEqual(self.run_installed("replay", "--version", **hidden).stdout, version)
            finally:
                beside.unlink()
        of_python = self.run_installed("replay", "--version",
                                       PATH=f"{Path(sys.executable).parent}:{PLAIN_PATH}")
        self.assertEqual(of_python.stdout, version)

    def test_a_wrong_libtorch_is_refused(self):
        fake = self.scratch / "fake"
        (fake / "lib").mkdir(parents=True)
        done = self.run_installed("replay", "--torch", fake, status=2)
        self.assertEqual(done.stderr, f"replay: --torch: no LibTorch in '{fake}' (no "
                                      "lib/libtorch_cpu.so)\n")
        (fake / "lib" / "libtorch_cpu.so").touch()
        (fake / "version.py").write_text("__version__ = '1.2.3+cpu'\n")
        done = self.run_installed("replay", status=2, UNDERSTUDY_TORCH_ROOT=str(fake))
        self.assertEqual(done.stderr, f"replay: UNDERSTUDY_TORCH_ROOT: LibTorch 1.2.3 in '{fake}'; "
                                      f"this replay was built with {TORCH_VERSION} and needs that\n")
        done = self.run_installed("replay", "--torch", status=2)
        self.assertEqual(done.stderr, "replay: --torch needs a folder, the one that holds "
                                      "lib/libtorch_cpu.so\n")

    def test_verbs_that_are_programs_of_their_own(self):
        hidden = {"UNDERSTUDY_TORCH_ROOT": str(self.torch)}
        self.assertEqual(sorted(path.name for path in (self.prefix / "bin").iterdir()),
                         ["replay", "understudy", "understudy-capture", "understudy-compile_kernels", "understudy-fidelity",
                          "understudy-mpirun"])
        done = self.run_installed("understudy", "replay", "--version", **hidden)
        self.assertEqual(done.stdout, f"replay {VERSION}\n")
        done = self.run_installed("understudy", "calibrate", "--only", "matmul", "--budget", "1",
                                  "--threads", "1", "--rows", "rows.jsonl", **hidden)
        self.assertIn("matmul", done.stdout)
        for verb in ("capture", "fidelity"):
            self.assertIn(f"usage: {verb}",
                          self.run_installed("understudy", "help", verb,
                                             PATH=f"{Path(sys.executable).parent}:{PLAIN_PATH}"
                                             ).stdout.lower())
        self.assertEqual(self.run_installed("understudy", "inspekt", status=2).stderr,
                         "understudy: unknown verb inspekt\n"
                         "  expected: calibrate, capture, compare, completion, compose, fidelity, fleet, "
                         "generate, inspect, predict, replay, shard\n"
                         "  got:      inspekt\n"
                         "  hint:     did you mean inspect?\n")

    def test_from_capture_to_replay_and_fidelity(self):
        python = sys.executable
        self.run_installed("understudy-capture", "-o", "my traces", "--threads", "1", "--stop",
                           "--no-fault-counts", "--steady", "0", "train me.py", python=python)
        self.assertIn("rank", self.run_installed("understudy", "inspect", "my traces").stdout)
        self.run_installed("understudy", "generate", "my traces", "-o", "my bench.et")
        self.run_installed("replay", "my bench.et", "--torch", self.torch, "--iterations", "2",
                           "--report", "one.json")
        report = json.loads((self.work / "one.json").read_text())
        self.assertEqual(report["coverage"]["count"], 1)
        done = self.run_installed("understudy-fidelity", "my traces", "--rounds", "1", "--steps",
                                  "3", "--profiled", "2", "--json", "f.json", "--", "train me.py",
                                  status=None, python=python)
        # Whether so few steps are within the limits is chance; that all of it ran is not.
        self.assertIn(done.returncode, (0, 1), done.stderr)
        document = json.loads((self.work / "f.json").read_text())
        self.assertEqual((document["failures"], document["incomplete"]), ([], None))
        self.assertEqual(len(document["samples"][0]["rounds"]), 1)

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
