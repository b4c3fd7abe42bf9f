"""Tests what users see of the package in Python; tests/package/wheel_test installs it."""

import re
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path

CAPTURE = Path(__file__).resolve().parents[2] / "capture"
sys.path.insert(0, str(CAPTURE))
import understudy  # noqa: E402

IDLE = """
import sys, time
import understudy
assert "torch" not in sys.modules, "the import loads torch"
assert understudy.__file__.startswith(sys.argv[1]), understudy.__file__
assert understudy.step() is False
assert set(dir(understudy)) >= {"step", "set_command_capture"}
try:
    understudy.no_such_name
except AttributeError as problem:
    assert str(problem) == "module 'understudy' has no attribute 'no_such_name'", problem
else:
    raise AssertionError("any name is there")
print("idle")
"""


class PackageTest(unittest.TestCase):
    def setUp(self):
        self.scratch = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()

    def run_with(self, *words):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              cwd=self.scratch, env={"PATH": "/usr/bin:/bin"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_a_script_of_its_own_does_nothing(self):
        self.assertEqual(self.run_with(sys.executable, "-c", f"import sys; sys.path.insert(0, sys.argv[1])\n{IDLE}", CAPTURE),
                         "idle\n")

    def test_the_path_gets_no_names_of_other_packages(self):
        text = (CAPTURE.parent / "pyproject.toml").read_text()
        scripts = re.findall(r'^([\w-]+) = "understudy\.', text, re.MULTILINE)
        self.assertEqual(scripts, ["understudy", "understudy-mpirun", "replay"])

    def test_the_handler_of_a_profiler_wants_what_a_benchmark_needs(self):
        class Profiler:
            record_shapes, profile_memory, activities = True, True, [types.SimpleNamespace(name="CPU")]

            def export_chrome_trace(self, path):
                Path(path).write_text("a profile")

        handler = understudy.profile_handler(self.scratch / "new")
        handler(Profiler())
        handler(Profiler())
        self.assertEqual([path.name for path in (self.scratch / "new").iterdir()], ["rank-0.json.gz"])
        poor = Profiler()
        poor.record_shapes, poor.activities = False, [types.SimpleNamespace(name="CUDA")]
        with self.assertRaises(ValueError) as caught:
            handler(poor)
        self.assertEqual(str(caught.exception), "a benchmark needs a profile with more: give torch.profiler.profile "
                         "record_shapes=True, ProfilerActivity.CPU among its activities")

    def test_without_torch_the_command_says_what_to_do(self):
        bare = subprocess.run(
            ["/usr/bin/python3", "-I", "-c", "import sys; sys.path.insert(0, sys.argv.pop(1)); "
             "sys.argv[0] = 'capture'; from importlib import util; util.find_spec = lambda _: None; "
             "from understudy.command import main; main()", CAPTURE, "-o", "out", __file__],
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
