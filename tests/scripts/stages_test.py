"""Tests that scripts/test runs all stages, also after one has failed, and names those that failed;
the stages are fakes."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SET_UP, HEADERS, RELEASE = "set-up and release build", "every header compiles alone", "release build: tests"
FORMATTING, SANITIZERS = "formatting", "sanitizers' build"
SANITIZED = "formats and generator under AddressSanitizer and UndefinedBehaviorSanitizer: tests"
THREADS = "threads under ThreadSanitizer"
SHORT = (SET_UP, RELEASE, FORMATTING)
ALL = (*SHORT, HEADERS, SANITIZERS, SANITIZED, THREADS)
# Prints how it was called, and fails if that fits one of the patterns in BROKEN.
PLAYED = """#!/bin/sh
called="$(basename "$0") $*"
echo "played: $called"
set -f
for pattern in $BROKEN; do
  case "$called" in $pattern) exit 1 ;; esac
done
"""
LOG = "Testing/Temporary/LastTest.log"


class StagesTest(unittest.TestCase):
    def setUp(self):
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.tools = self.root / "tools"
        for name in ("scripts/checks", "tools"):
            (self.root / name).mkdir(parents=True)
        shutil.copy(ROOT / "scripts" / "test", self.root / "scripts" / "test")
        for name in ("scripts/build", "scripts/checks/headers", "scripts/checks/format", "scripts/checks/races",
                     "tools/cmake", "tools/ctest"):
            (self.root / name).write_text(PLAYED, encoding="utf-8")
            (self.root / name).chmod(0o755)
        for build in ("release", "asan-ubsan"):
            log = self.root / "build" / build / LOG
            log.parent.mkdir(parents=True)
            log.write_text("", encoding="utf-8")

    def run_stages(self, broken, *arguments):
        """The exit status, the stages with their outcomes, and the text at the end."""
        environment = {**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}", "BROKEN": broken}
        done = subprocess.run([self.root / "scripts" / "test", *arguments], capture_output=True, text=True,
                              env=environment, check=False)
        outcomes = re.findall(r"^test: (.*): (passed in|FAILED in|NOT RUN, .*)", done.stderr, re.MULTILINE)
        stages = {name: outcome.removesuffix(" in") for name, outcome in outcomes}
        end = re.sub(r"\b\d+ s", "N s", done.stderr.rpartition("test: ")[2])
        self.said = done.stderr
        return done.returncode, stages, end, done.stdout

    def test_all_pass(self):
        status, stages, end, output = self.run_stages("nothing", "--all")
        self.assertEqual((status, end), (0, "all stages passed in N s\n"))
        self.assertEqual(stages, dict.fromkeys(ALL, "passed"))
        self.assertNotIn(" -E ", output)

    def test_what_does_not_fit_is_left_out_and_named(self):
        status, stages, end, output = self.run_stages("nothing", "--all", "--within", "0")
        self.assertEqual((status, end), (0, "all other stages passed in N s\n"))
        late = (HEADERS, THREADS, SANITIZERS, SANITIZED)
        reason = "NOT RUN, on this machine it would not end within 0 minutes"
        self.assertEqual(stages, {**dict.fromkeys(SHORT, "passed"), **dict.fromkeys(late, reason)})
        self.assertIn("test: left out, for want of time:\n" + "".join(f"  {name}\n" for name in late), self.said)
        self.assertNotIn("played: races", output)

    def test_what_fits_is_run(self):
        status, stages, _, _ = self.run_stages("nothing", "--all", "--within", "5")
        self.assertEqual((status, stages), (0, dict.fromkeys(ALL, "passed")))

    def test_without_all_the_longest_are_left_out_and_it_says_so(self):
        status, stages, end, output = self.run_stages("nothing")
        self.assertEqual((status, end), (0, "all stages passed in N s\n"))
        self.assertEqual(stages, dict.fromkeys(SHORT, "passed"))
        self.assertRegex(output, r"played: ctest --test-dir build/release .* -E \^\(golden")
        self.assertRegex(self.said, r"test: stage 2 of 3, 0 min so far: release build: tests\n")
        self.assertIn("test: scripts/test --all runs the longest tests and those under sanitizers too\n", self.said)

    def test_a_failed_test_ends_no_other_stage(self):
        status, stages, end, _ = self.run_stages("ctest*build/release*", "--all")
        self.assertEqual((status, end), (1, f"FAILED after N s:\n  {RELEASE}\n"))
        self.assertEqual(stages, {**dict.fromkeys(ALL, "passed"), RELEASE: "FAILED"})

    def test_what_did_not_build_is_not_taken_for_tested(self):
        status, stages, end, _ = self.run_stages("build* format* cmake*--build*", "--all")
        not_run = "not run: the build failed"
        self.assertEqual((status, end), (1, "FAILED after N s:\n"
                                            f"  {SET_UP}\n"
                                            f"  {RELEASE} ({not_run})\n"
                                            f"  {FORMATTING}\n"
                                            f"  {HEADERS} ({not_run})\n"
                                            f"  {SANITIZERS}\n"
                                            f"  {SANITIZED} ({not_run})\n"))
        left_out = "NOT RUN, the build failed"
        self.assertEqual(stages, {SET_UP: "FAILED", RELEASE: left_out, FORMATTING: "FAILED", HEADERS: left_out,
                                  SANITIZERS: "FAILED", SANITIZED: left_out, THREADS: "passed"})

    def test_what_a_program_of_tests_left_out_is_named(self):
        skipped = "[  SKIPPED ] Gpu.Runs (0 ms)\n[  SKIPPED ] Gpu.Runs\n[  SKIPPED ] Cgroup.Limits (1 ms)\n"
        (self.root / "build" / "release" / LOG).write_text(skipped, encoding="utf-8")
        environment = {**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}", "BROKEN": "nothing"}
        done = subprocess.run([self.root / "scripts" / "test"], capture_output=True, text=True, env=environment, check=True)
        self.assertIn("test: release: left out by themselves, for want of what they need: Cgroup.Limits Gpu.Runs \n",
                      done.stderr)

    def test_chosen_tests_are_those_of_the_release_alone(self):
        status, stages, _, output = self.run_stages("nothing", "-R", "golden")
        self.assertEqual((status, stages), (0, {}))
        self.assertEqual(output.splitlines(),
                         ["played: build ",
                          "played: ctest --test-dir build/release --output-on-failure --no-tests=error -R golden"])


if __name__ == "__main__":
    unittest.main()
