"""Starts the package's programs: console scripts become them, run() returns what they print."""

from __future__ import annotations

import codecs
import importlib.metadata
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any, Sequence

from .endings import USAGE, Refused, run_main
from .start import absolute

HERE = Path(__file__).resolve().parent
IN_PYTHON = {"capture": "understudy.command", "fleet": "understudy_fleet.command"}
CLONE = HERE.parents[1]
IS_CLONE = (CLONE / "scripts" / "capture").is_file()  # else this is the installed package
START = str(HERE / "start.py")
NOT_STARTED = "{} cannot be started ({}); install the package again, or build the clone with scripts/build"
FACTS = ("file", "rank", "node", "field", "expected", "got", "hint")
MOST_LINES = 10  # of what a program says that ends without an error of ours
WIPED = "\x1b[K"  # the end of what wipes a line of progress away
# An error begins a line, or what stands in place of a wiped one.
ERROR = re.compile(rf'(?:^|{re.escape(WIPED)})({{"error":)', re.MULTILINE)


class Error(Exception):
    """A verb did not do what it was asked. str() is its message as in a terminal.

    verb, status: the verb, and its exit status
    summary, file, rank, …: what the verb says of it (docs/formats.md, "Errors as JSON"); None where it says nothing
    result: what it found before a check failed, such as replay's min_coverage
    """

    summary: str
    file: str | None
    rank: int | None
    node: int | None
    field: str | None
    expected: str | None
    got: str | None
    hint: str | None
    result: Any

    def __init__(self, verb: str, status: int, said: dict[str, Any]) -> None:
        super().__init__(verb, status, said)
        self.verb, self.status, self.result = verb, status, None
        self.__dict__.update({fact: None if said.get(fact) == "" else said.get(fact) for fact in ("summary", *FACTS)})

    def __str__(self) -> str:
        facts = [f"\n  {fact + ':':<9} {getattr(self, fact)}" for fact in FACTS if getattr(self, fact) is not None]
        return f"{self.verb}: {self.summary}{''.join(facts)}"


def version() -> str:
    """Returns the version of the package, or of the clone."""
    if not IS_CLONE:
        return importlib.metadata.version("understudy")
    found = re.search(r"understudy VERSION ([0-9.]+)", (CLONE / "CMakeLists.txt").read_text(encoding="utf-8"))
    return found[1] if found else "unknown"


def variable(name: str) -> str:
    """Returns a variable that names a file. One of the current folder is refused."""
    value = os.environ.get(name, "")
    if value and not os.path.isabs(value):
        raise Refused(f"{name}={value} names a file of the current folder: expected a path that begins with /", USAGE)
    return value


def folder() -> Path:
    """Returns the folder of the programs: the package's own; in a clone, of its build."""
    return Path(variable("UNDERSTUDY_BIN") or (CLONE / "build" / "release" / "bin" if IS_CLONE else HERE / "bin")).resolve()


def command(verb: str) -> list[str]:
    """Returns the words that start a verb: its own program, as `replay` and a build's links, or `understudy VERB`."""
    own = folder() / verb
    return [str(own)] if own.exists() else [str(folder() / "understudy"), verb]


def python(module: str, *words: str) -> list[str]:
    """Returns the words that start main() of a module with this Python and its path, but for what is relative to the current folder."""
    relative = {os.path.abspath(part) for part in ("", *os.environ.get("PYTHONPATH", "").split(os.pathsep)) if not os.path.isabs(part)}
    return [sys.executable, "-I", START, f"--path={os.pathsep.join(part for part in sys.path if part not in relative)}", module, *words]


def environment() -> dict[str, str]:
    """Returns the environment of the programs: `replay` first looks for LibTorch in this Python."""
    cleaned = {name: os.pathsep.join(absolute(os.environ.get(name, ""))) for name in ("PATH", "LD_LIBRARY_PATH")}
    others = {name: value for name, value in os.environ.items() if name not in cleaned}
    return {"UNDERSTUDY_PYTHON": sys.executable, **others, **{name: value for name, value in cleaned.items() if value}}


def run(verb: str, words: Sequence[str], ranks: int = 1) -> tuple[str, Error | None]:
    """Runs a verb, on several ranks under torchrun, and returns what it printed, and its error.

    What it says is shown while it runs: notices, and progress, in one line where that can be redrawn. A status other than
    0 with a result, as compare's 1 for a slower run, is no error.
    """
    try:
        whole = [*command(verb), *words]
    except Refused as problem:
        return "", Error(verb, problem.status, {"summary": str(problem)})
    if ranks > 1:
        whole = python("torch.distributed.run", "--no-python", "--nproc-per-node", str(ranks), *whole)
    wishes = {"UNDERSTUDY_ERRORS": "json", **environment()}
    if sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel"):
        wishes.setdefault("UNDERSTUDY_PROGRESS", "redraw")
    if ranks > 1:
        wishes.setdefault("OMP_NUM_THREADS", "1")  # torchrun's own default, without its warning
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(whole, stdout=output, stderr=subprocess.PIPE, env=wishes)
        except OSError as problem:
            return "", Error(verb, USAGE, {"summary": NOT_STARTED.format(whole[0], problem.strerror)})
        with process:
            assert process.stderr
            try:
                said = _relay(process.stderr)
            except KeyboardInterrupt:
                process.send_signal(signal.SIGINT)  # a notebook's kernel is interrupted alone
                raise
        output.seek(0)
        printed = output.read().decode(errors="replace")
    if found := ERROR.search(said):
        return printed, Error(verb, process.returncode, json.loads(said[found.start(1):].partition("\n")[0])["error"])
    last = said.rpartition(WIPED)[2].strip().splitlines()[-MOST_LINES:]
    summary = "\n".join([f"ended with status {process.returncode}", *last])
    return printed, None if printed else Error(verb, process.returncode, {"summary": summary})


def _relay(stream: IO[bytes]) -> str:
    said, shown, decoder = "", 0, codecs.getincrementaldecoder("utf-8")("replace")
    while chunk := os.read(stream.fileno(), 1 << 16):
        said += decoder.decode(chunk)
        error = ERROR.search(said, max(0, shown - len(WIPED)))
        end = error.start(1) if error else len(said)
        sys.stderr.write(said[shown:end])
        sys.stderr.flush()
        shown = end
    return said


def main() -> None:
    """Becomes the program of the console script that was called; verbs in Python run in this process."""
    called, words = Path(sys.argv[0]).name, sys.argv[1:]
    if called in ("understudy", "__main__.py"):
        called, words = words[0] if words else "", words[1:]
    if called == "help" and words[:1] and words[0] in IN_PYTHON:
        called, words = words[0], ["--help"]
    if called in IN_PYTHON:
        sys.argv = [f"{sys.argv[0]} {called}", *words]
        if IS_CLONE:
            sys.path.append(str(CLONE / "fleet"))
        importlib.import_module(IN_PYTHON[called]).main()
    run_main("understudy", lambda: become(called or "understudy", words))


def become(verb: str, words: Sequence[str]) -> None:
    """Replaces this process by a verb's program."""
    program = command(verb)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and the program would: `understudy … | head` ends in silence
    try:
        os.execve(program[0], [*program, *words], environment())
    except OSError as problem:
        raise Refused(NOT_STARTED.format(program[0], problem.strerror), USAGE) from problem
