"""Tests the package as users install it: with pip, without anything on the path, without torch."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CAPTURE = Path(__file__).resolve().parents[2] / "capture"
IDLE = """
import sys, time
import understudy_capture
assert "torch" not in sys.modules, "the import loads torch"
assert understudy_capture.__file__.startswith(sys.argv[1]), understudy_capture.__file__
assert understudy_capture.step() is False
assert set(dir(understudy_capture)) >= {"step", "set_command_capture"}
try:
    understudy_capture.no_such_name
except AttributeError as problem:
    assert str(problem) == "module 'understudy_capture' has no attribute 'no_such_name'", problem
else:
    raise AssertionError("any name is there")
print("idle")
"""


class PackageTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name).resolve()

    def run_with(self, *words):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              cwd=self.scratch, env={"PATH": "/usr/bin:/bin"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_pip_installs_it_and_a_script_of_its_own_does_nothing(self):
        environment = self.scratch / "env"
        self.run_with(sys.executable, "-m", "venv", "--system-site-packages", "--without-pip",
                      environment)
        shutil.copytree(CAPTURE, self.scratch / "source",
                        ignore=shutil.ignore_patterns("__pycache__"))
        packages = next((environment / "lib").glob("python3*")) / "site-packages"
        self.run_with(sys.executable, "-m", "pip", "install", "--quiet", "--no-index",
                      "--disable-pip-version-check", "--target", packages, self.scratch / "source")
        python = environment / "bin" / "python"
        self.assertEqual(self.run_with(python, "-c", IDLE, packages), "idle\n")
        installed, sources = ({path.name for path in (folder / "understudy_capture").iterdir()
                               if path.is_file()} for folder in (packages, CAPTURE))
        self.assertEqual(installed, sources)
        self.assertIn("capture_backend.cpp", installed)
        self.assertIn("exit status: 0 the capture is complete",
                      self.run_with(python, "-m", "understudy_capture", "--help"))
        self.assertIn("exit status: 0 the capture is complete",
                      self.run_with(python, packages / "bin" / "understudy-capture", "--help"))

    def test_without_torch_the_command_says_what_to_do(self):
        bare = subprocess.run(
            ["/usr/bin/python3", "-I", "-c", "import sys; sys.path.insert(0, sys.argv.pop(1)); "
             "sys.argv[0] = 'capture'; from importlib import util; util.find_spec = lambda _: None; "
             "from understudy_capture.command import main; main()", CAPTURE, "-o", "out", __file__],
            capture_output=True, text=True, cwd=self.scratch)
        self.assertEqual((bare.returncode, bare.stderr), (
            2, "capture: /usr/bin/python3 has no torch; run this with the Python of your training "
               "program: `path/to/python capture -o DIR train.py`\n"))

    def test_another_python_than_the_callers_is_named(self):
        script, own = CAPTURE.parent / "scripts" / "capture", CAPTURE.parent / ".venv" / "bin" / "python"
        if not own.exists():
            self.skipTest("the clone has no Python of its own")
        bare = subprocess.run(
            ["/usr/bin/python3", "-I", "-c", "import os, runpy, sys; from importlib import util; "
             "util.find_spec = lambda _: None; os.execv = lambda path, _: sys.exit(f'starts {path}'); "
             "runpy.run_path(sys.argv[1], run_name='__main__')", script],
            capture_output=True, text=True, cwd=self.scratch)
        self.assertEqual(bare.stderr, (
            f"capture: /usr/bin/python3 has no torch, so the script runs under {own}, which has other packages; "
            f"for your own: path/to/python scripts/capture …\nstarts {own}\n"))


if __name__ == "__main__":
    unittest.main()
