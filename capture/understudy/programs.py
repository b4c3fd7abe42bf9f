"""Starts the package's programs: console scripts become them, run() returns what they print."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

from .endings import USAGE

HERE = Path(__file__).resolve().parent
IN_PYTHON = {"capture": "understudy.command", "fidelity": "understudy.fidelity.command"}
CLONE = HERE.parents[1]
IS_CLONE = (CLONE / "scripts" / "capture").is_file()  # else this is the installed package
OWN_PYTHON = CLONE / ".venv" / "bin" / "python"
NOT_STARTED = "{} cannot be started ({}); install the package again, or build the clone with scripts/build"
# What a Python runs to capture.
CAPTURE = [str(CLONE / "scripts" / "capture")] if IS_CLONE else ["-m", "understudy", "capture"]


class ProgramFailed(Exception):
    """A program printed no result: `status` is its exit status, `error` its error (docs/formats.md), or its last words."""

    def __init__(self, verb, status, said):
        said = said.strip().rpartition("\n")[2]
        try:
            self.error = json.loads(said)["error"]
            facts = [f"{key}: {self.error[key]}" for key in ("file", "field", "expected", "got", "hint")
                     if self.error.get(key)]
            said = "; ".join([self.error["summary"], *facts])
        except (ValueError, KeyError, TypeError):
            self.error = said
        super().__init__(f"{verb} ended with status {status}: {said}")
        self.status = status


def folder():
    """Returns the folder of the programs: the package's own; in a clone, of its build."""
    of_clone = CLONE / "build" / "release" / "bin"
    return Path(os.environ.get("UNDERSTUDY_BIN", HERE / "bin" if (HERE / "bin").is_dir() else of_clone)).resolve()


def command(verb):
    """Returns the words that start a verb: its own program, as `replay` and a build's links, or `understudy VERB`."""
    own = folder() / verb
    return [str(own)] if own.exists() else [str(folder() / "understudy"), verb]


def environment():
    """Returns the environment of the programs: `replay` first looks for LibTorch in this Python."""
    return {"UNDERSTUDY_PYTHON": sys.executable, **os.environ}


def run(verb, *arguments):
    """Runs a verb with `--format json` and returns its result as a dict.

    What it prints on standard error is shown after it, unless it failed: then it is in the ProgramFailed. A status other
    than 0 with a result, as compare's 1 for a slower run, is no failure.
    """
    words = [*command(verb), *map(str, arguments), "--format", "json"]
    try:
        done = subprocess.run(words, text=True, capture_output=True, env=environment())
    except OSError as problem:
        raise ProgramFailed(verb, USAGE, NOT_STARTED.format(words[0], problem.strerror)) from None
    try:
        result = json.loads(done.stdout)
    except ValueError:
        raise ProgramFailed(verb, done.returncode, done.stderr) from None
    sys.stderr.write(done.stderr)
    return result


def main():
    """Becomes the program of the console script that was called; verbs in Python run in this process."""
    called, words = Path(sys.argv[0]).name, sys.argv[1:]
    if called in ("understudy", "__main__.py"):
        called, words = words[0] if words else "", words[1:]
    if called == "help" and words[:1] and words[0] in IN_PYTHON:
        called, words = words[0], ["--help"]
    if called in IN_PYTHON:
        sys.argv = [f"{sys.argv[0]} {called}", *words]
        importlib.import_module(IN_PYTHON[called]).main()
    program = command(called or "understudy")
    try:
        os.execve(program[0], [*program, *words], environment())
    except OSError as problem:
        print("understudy:", NOT_STARTED.format(program[0], problem.strerror), file=sys.stderr)
        sys.exit(USAGE)
