"""Starts the programs, and the Python with torch, for checks and samples."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from ..programs import CAPTURE

ASK = ("import json, torch, pathlib; print(json.dumps({"
       "'torch': torch.__version__, 'root': str(pathlib.Path(torch.__file__).parent), "
       "'gpu': torch.cuda.get_device_name(0) if torch.cuda.is_available() else None, "
       "'gpus': torch.cuda.device_count()}))")


MOST_STEPS = 1_000_000  # steps of a program; the capture ends it earlier


class Failed(Exception):
    """A command failed."""


class NotRun(Exception):
    """A check cannot be made here, and why."""


class Machine:
    def __init__(self, python, binaries, device, facts=None):
        """`facts`: facts of another Machine with the same Python, to avoid a second query."""
        self.bin = Path(binaries).resolve()
        self.python = python
        self.device = device
        self.facts = facts or self._ask()
        self.environment = dict(os.environ)
        if self.facts:
            self.environment["UNDERSTUDY_TORCH_ROOT"] = self.facts["root"]
            self.environment["UNDERSTUDY_PYTHON"] = self.python

    def _ask(self):
        """Facts about the Python's torch; None if it has no torch."""
        asked = subprocess.run([self.python, "-c", ASK], capture_output=True, text=True)
        return json.loads(asked.stdout.splitlines()[-1]) if asked.returncode == 0 else None

    def program(self, name):
        """Returns the path of a program; an installed package has those of `understudy` beside the path."""
        own = self.bin / name
        return own if own.exists() else self.bin.parent / "libexec" / "understudy" / name

    def start(self, *words, environment=None):
        """Runs a command and returns its result, whatever its status."""
        return subprocess.run([str(word) for word in words], env=environment or self.environment, capture_output=True,
                              text=True)

    def run(self, *words, environment=None):
        done = self.start(*words, environment=environment)
        if done.returncode != 0:
            raise Failed(f"{Path(str(words[0])).name}: {reason_of(done.stderr or done.stdout)}")
        return done

    def capture(self, program, folder, *options, launcher=(), environment=None):
        """Captures a program on this machine's device. Returns rank 0's part of capture.json."""
        shutil.rmtree(folder, ignore_errors=True)
        steady = ["--threads", 1] if self.device == "cpu" else []
        self.run(self.python, *launcher, *CAPTURE, "-o", folder, "--stop", "--steady", 0, *steady, *options,
                 program, "--device", self.device, "--steps", MOST_STEPS, environment={**os.environ, **(environment or {})})
        summary = json.loads((folder / "capture.json").read_text(encoding="utf-8"))
        return summary["ranks"][0]

    def generate(self, traces, bench, *more):
        self.run(self.program("generate"), traces, "-o", bench, *more)
        return bench

    def replay(self, bench, target, *more, launcher=(), environment=None):
        steady = ["--threads", 1] if self.device == "cpu" else []
        self.run(*launcher, self.program("replay"), bench, "--device", self.device, *steady, "--report", target,
                 *more, environment={**self.environment, **(environment or {})})
        return self.report(target)

    @staticmethod
    def report(target):
        return json.loads(target.read_text(encoding="utf-8"))

    def profiled_replay(self, bench, target):
        """Returns the events of a step of a short replay, and its report."""
        profile = target.with_suffix(".profile.json")
        report = self.replay(bench, target, "--warmup", 0, "--iterations", 3, "--passes", 5, "--trace", profile)
        return json.loads(profile.read_text(encoding="utf-8"))["traceEvents"], report

    def ranks(self):
        """Returns the number of ranks: one per GPU; two if the checks are tried on a CPU."""
        return 2 if self.device == "cpu" else self.facts["gpus"]


def reason_of(said):
    """Returns the last line of a traceback that names the error; without a traceback the first lines."""
    lines = said.strip().splitlines() or ["no message"]
    for line in reversed(lines):
        if "Traceback (most recent call last)" in said and re.match(r"[\w.]*(Error|Exception|Failed)\b", line):
            return line
    return " | ".join(lines[:6])


class Findings:
    """Observed and expected values of a check."""

    def __init__(self):
        self.figures = {}
        self.tests = []

    def expect(self, what, passed, expected, got):
        self.tests.append({"what": what, "passed": bool(passed), "expected": str(expected),
                           "got": str(got)})

    def equal(self, what, got, wanted):
        self.expect(what, got == wanted, wanted, got)

    def within(self, what, value, reference, share, slack=0.0):
        """Checks that `value` is within a share of `reference`, or within `slack` of it."""
        passed = abs(value - reference) <= max(share * abs(reference), slack)
        self.expect(what, passed, f"{reference:.4g} ± {max(share * abs(reference), slack):.2g}",
                    f"{value:.4g}")

    def to_row(self):
        failed = [test for test in self.tests if not test["passed"]]
        return {"status": "failed" if failed else "passed",
                "reason": "; ".join(f"{test['what']}: expected {test['expected']}, got {test['got']}"
                                    for test in failed),
                "figures": self.figures, "tests": self.tests}
