"""The programs that a fleet starts, `judge` among them, and what of a node they may use."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import Any, Iterable, Iterator, Sequence

from understudy import programs
from understudy.endings import BAD_INPUT

from .problems import Problem, damaged

_is_ended = threading.Event()
_running: set[subprocess.Popen[bytes]] = set()
MOST_ERRORS_BYTES = 16 << 10
GRACE_S = 5
JUDGE_S = 3600  # that an answer may take: Otava has half of it


@dataclass
class Ended:
    status: int  # 128 + its number for a signal
    errors: str  # the end of what it said on standard error
    output: str = ""
    timed_out: bool = False


def run_program(words: Sequence[str], variables: dict[str, str] | None = None, timeout_s: float | None = None, lock: int | None = None) -> Ended:
    """Runs a program that reads nothing. It ends with this process or at its time, with all that it started; it holds `lock`."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=True,
                env={**programs.environment(), **(variables or {})}, pass_fds=() if lock is None else (lock,))
        except OSError as problem:
            raise Problem("a program cannot be started", file=words[0], got=problem.strerror,
                          hint="install it, or name its folder in PATH") from problem
        _running.add(process)
        timed_out = bool(timeout_s) and not _ends_within(process, timeout_s or 0)
        if timed_out:
            _end(process)
        process.wait()
        _running.discard(process)
        if _is_ended.is_set():
            threading.Event().wait()  # this process ends; the step has no outcome
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - MOST_ERRORS_BYTES))
        output.seek(0)
        status = process.returncode if process.returncode >= 0 else 128 - process.returncode
        return Ended(status, errors.read().decode(errors="replace"), output.read(MOST_ERRORS_BYTES).decode(errors="replace"), timed_out)


def end_all() -> None:
    """Ends the programs that run: they are in sessions of their own, which a signal to this process does not reach."""
    _is_ended.set()
    for process in list(_running):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Waits without a look at the clock in between, which would cost a short step its time."""
    file = os.pidfd_open(process.pid)
    try:
        return bool(select.select([file], [], [], seconds)[0])
    finally:
        os.close(file)


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            _ends_within(process, GRACE_S)


def judge(task: str, request: Any, *words: str) -> tuple[int, str]:
    """Asks `judge` (docs/formats.md). Returns its status and what it printed. Raises its errors."""
    return judge_lines(task, [request], *words)


def judge_lines(task: str, lines: Iterable[Any], *words: str) -> tuple[int, str]:
    with tempfile.TemporaryFile() as asked:
        for line in lines:
            asked.write(json.dumps(line, ensure_ascii=False, allow_nan=False).encode(errors="surrogateescape") + b"\n")
        asked.seek(0)
        try:
            done = subprocess.run([*programs.command("judge"), task, *words], stdin=asked, capture_output=True, check=False,
                                  env={**programs.environment(), "UNDERSTUDY_ERRORS": "json"}, timeout=JUDGE_S)
        except subprocess.TimeoutExpired as problem:
            raise Problem(f"judge {task} did not answer within {JUDGE_S} s", hint="see what else the machine does; the next night tries again") from problem
    printed, said = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    if found := programs.ERROR.search(said):
        error = json.loads(said[found.start(1):].partition("\n")[0])["error"]
        if done.returncode == BAD_INPUT and error.get("file") == "standard input":  # what the database has is not what a fleet writes
            raise damaged(field=error["field"], expected=error["expected"], got=error["got"])
        sys.stdout.write(printed)
        raise Problem(error.pop("summary"), done.returncode, **error)
    if done.returncode not in (0, 1):
        raise Problem(f"judge ended with status {done.returncode}", got=said.strip())
    return done.returncode, printed


def asked_of_judge(task: str, request: Any, *words: str) -> Any:
    return json.loads(judge(task, request, *words)[1])


class JudgeOfLines:
    """A `judge` that answers requests of all threads, one after the other: to start it takes longer than most answers."""

    def __init__(self, task: str) -> None:
        self._task, self._lock = task, threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, request: Any) -> Any:
        line = json.dumps(request, ensure_ascii=False, allow_nan=False).encode(errors="surrogateescape") + b"\n"
        with self._lock:
            with contextlib.suppress(OSError):
                if self._process is None:
                    self._process = subprocess.Popen([*programs.command("judge"), self._task, "--lines"], stdin=subprocess.PIPE,
                                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=programs.environment())
                assert self._process.stdin and self._process.stdout
                self._process.stdin.write(line)
                self._process.stdin.flush()
                if select.select([self._process.stdout], [], [], JUDGE_S)[0] and (answer := self._process.stdout.readline()):
                    return json.loads(answer)
            if self._process:
                with self._process:
                    self._process.kill()
            self._process = None  # it has ended, or hangs; another one says why
        return asked_of_judge(self._task, request)


@dataclass
class Tools:
    """The programs that a night starts, and this node."""

    generate: list[str]
    replay: list[str]
    generator: str  # "generate 0.1.0": its version is part of a benchmark's key
    platform: str
    cores: int


def find_tools(replays: bool) -> Tools:
    node = asked_of_judge("node", {})
    generate, replay = programs.command("generate"), programs.folder() / "replay"
    if replays and not replay.exists():
        raise Problem("the program that replays is missing", file=replay, hint="install the package again, or build `programs`")
    generator = run_program([*generate, "--version"]).output.strip()
    return Tools(generate, [str(replay)], generator, node["platform"], node["cores"])


@contextlib.contextmanager
def node_lock(times: bool) -> Iterator[int]:
    """Locks this node: a timed replay excludes all computing of all fleets (fleet/process/node.h has the same). Yields the lock, which
    programs inherit, so one that outlives its worker still holds the node."""
    path = os.environ.get("UNDERSTUDY_NODE_LOCK") or "/tmp/understudy-node.lock"
    held = _open_lock(path)
    try:
        # Without this queue, new shared locks could keep a waiting exclusive lock out for ever.
        turn = _open_lock(f"{path}.queue")
        try:
            fcntl.flock(turn, fcntl.LOCK_EX)
            fcntl.flock(held, fcntl.LOCK_EX if times else fcntl.LOCK_SH)
        finally:
            os.close(turn)
        yield held
        fcntl.flock(held, fcntl.LOCK_UN)  # even if a launcher's daemon goes on, which does not replay
    finally:
        os.close(held)


def _open_lock(path: str) -> int:
    """Opens a lock file for all users, where any user may have made something else of that name: follows no link, writes nothing."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
    try:
        try:
            found = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o444)
            os.fchmod(found, 0o444)  # whatever the umask
        except FileExistsError:
            found = os.open(path, flags)
        if stat.S_ISREG(os.fstat(found).st_mode):
            return found
        os.close(found)
        got: str | None = "something else than a file"
    except OSError as problem:
        got = problem.strerror
    raise Problem("the node cannot be locked for a replay", file=path, expected="a file that can be read, or a place for one", got=got,
                  hint="name another file: UNDERSTUDY_NODE_LOCK=FILE")
