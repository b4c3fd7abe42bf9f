"""A night of the fleet: what changed is made anew, what is due is replayed and judged, and the night is summed up once.

Any number of processes on any machines work on the open night. A step is taken by the kernel's lock on a file of the store, which ends with the
process that holds it: whoever looks next goes on with the step. So nothing needs a sign of life, and a night can be killed at any moment."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import random
import shutil
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Iterator

import sqlalchemy as sa

from .changes import new_points, put_points
from .inputs import benchmark_key, input_stat
from .problems import DatabaseProblem, Problem, in_one_line
from .records import current_benchmarks, jobs_of, now_utc
from .steps import Context, Generate, Replay, add_replays, finish_failed
from .tables import benchmark, event, failing, night, night_platform, work

MOST_ATTEMPTS = 3
LOOK_S = 0.25
KINDS = ("generate", "replay")
TAKE = work.update().where(work.c.id == sa.bindparam("step"), work.c.outcome.is_(None)).values(attempts=work.c.attempts + 1).returning(work)


@contextlib.contextmanager
def held(path: Path, shared: bool = False, waits: bool = False) -> Iterator[bool]:
    """Holds the lock of a file while entered. Yields False if another has it and this one does not wait."""
    file = _lock(path, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if waits else fcntl.LOCK_NB))
    try:
        yield file is not None
    finally:
        if file is not None:
            os.close(file)


def _lock(path: Path, operation: int) -> int | None:
    while True:
        file = None
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
            fcntl.flock(file, operation)
            if os.path.samestat(os.fstat(file), path.lstat()):
                return file
        except BlockingIOError:
            os.close(file)  # type: ignore[arg-type]
            return None
        except OSError as problem:
            if file is None or not isinstance(problem, FileNotFoundError):
                raise Problem("the store cannot be written", file=path, got=problem.strerror,
                              hint="see that the disk has room, can be written, and has locks (flock)") from problem
        os.close(file)  # of a file that another has removed: whoever comes next makes a new one


class Progress:
    """Says on standard error every ten seconds what a night is at (UNDERSTUDY_PROGRESS: "off", or seconds)."""

    def __init__(self, is_quiet: bool) -> None:
        wish = os.environ.get("UNDERSTUDY_PROGRESS", "")
        self.is_off = is_quiet or wish == "off"
        self.every_s = float(wish) if wish.replace(".", "", 1).isdigit() else 10.0
        self.said_s = time.monotonic()

    def __call__(self, phase: str, done: int, total: int) -> None:
        if not self.is_off and time.monotonic() - self.said_s >= self.every_s:
            self.said_s = time.monotonic()
            print(f"{phase}: {done} of {total}" if total else phase, file=sys.stderr, flush=True)


class Night:
    def __init__(self, context: Context, on_progress: Progress) -> None:
        self.context, self.on_progress = context, on_progress
        self.database, self.store, self.options = context.database, context.store, context.options
        self.locks = context.store.folder / "work"
        context.store.make_folder(self.locks)
        self.number = 0

    def run(self, submit: Callable[[], None] | None = None) -> Any:
        """Opens a night or joins the open one, works on it until nothing is left, and returns its summary. `submit` starts workers
        elsewhere, and returns when they have ended."""
        with self.presence():
            self.on_progress("looking at the jobs' files", 0, 0)
            self.number = self.plan()
            if submit is None:
                self.work(KINDS)
        if submit:
            submit()
        while left := self.left():
            self.on_progress("waiting for other workers", 0, 0)
            self.give_up(left, is_alone=submit is not None)
            time.sleep(LOOK_S)
        return self.summed_up()

    def help(self, kinds: tuple[str, ...]) -> bool:
        """Works on the open night. Returns False if none is open."""
        with self.database.read() as connection:
            if connection.execute(sa.select(night.c.id).where(night.c.state == "open")).first() is None:
                return False
        with self.presence():
            self.number = self.plan()
            self.work(kinds)
        return True

    def presence(self) -> contextlib.AbstractContextManager[bool]:
        """Says, while entered, that this platform has a worker."""
        if self.options.generate_only:
            return contextlib.nullcontext(True)
        return held(self._presence_of(self.options.platform), shared=True, waits=True)

    def _presence_of(self, platform: str) -> Path:
        return self.locks / f"{hashlib.sha256(platform.encode()).hexdigest()[:16]}.platform"

    def plan(self) -> int:
        """Opens a night with its work, or joins the open one. Jobs whose files' names, sizes and times are as before get none."""
        with self.database.read() as connection:  # nobody waits while files are looked at
            jobs = jobs_of(self.database, connection)
            is_open = connection.execute(sa.select(night.c.id).where(night.c.state == "open")).first() is not None
            benchmarks = {row.id: row for row in self.database.rows(connection, sa.select(benchmark.c.id, benchmark.c.key, benchmark.c.object))}
        due = [row for row in jobs if not self._is_as_before(row, benchmarks)] if not is_open else []
        with self.database.write() as connection:
            number = connection.execute(sa.select(night.c.id).where(night.c.state == "open")).scalar()
            was_open = number is not None
            if number is None:
                added = connection.execute(night.insert().values(opened_utc=now_utc(), state="open", jobs=len(jobs), unchanged=len(jobs) - len(due)))
                number = added.inserted_primary_key[0]  # type: ignore[index]
                if due:
                    connection.execute(work.insert(), [
                        {"night": number, "kind": "generate", "subject": row.id, "platform": "", "attempts": 0} for row in due])
            if self.options.generate_only:
                return int(number)
            own = {"night": number, "platform": self.options.platform}
            if not connection.execute(sa.select(night_platform.c.night).filter_by(**own)).first():
                connection.execute(night_platform.insert().values(own))
            # In an open night what is made gets its replays when it is made; the others get them here.
            made_anew = {row.id for row in due}
            unchanged = {row.benchmark for row in jobs if row.id not in made_anew}
            replayed = [row for row in current_benchmarks(self.database, connection) if was_open or row.id in unchanged]
            add_replays(self.context, connection, number, replayed, [self.options.platform])
        return int(number)

    def _is_as_before(self, row: Any, benchmarks: dict[int, Any]) -> bool:
        """Returns true if a job's files are as when they were last read, and gave a benchmark that is there or an error that comes again."""
        if self.options.regenerates or not row.input_stat:
            return False
        key = benchmark_key(row.input_hash, self.context.tools.generator, row.flags)
        made = benchmarks.get(row.benchmark)
        if row.broken_key != key if row.broken else made is None or made.key != key or not self.store.has(made.object):
            return False
        try:
            return bool(input_stat(row.path)[0] == row.input_stat)
        except Problem:
            return False  # the step tells of it

    def left(self, kinds: tuple[str, ...] = KINDS, on: str | None = None) -> list[Any]:
        """Returns the steps that have not ended; `on`: those that a worker of this platform can do."""
        query = sa.select(work).where(work.c.night == self.number, work.c.outcome.is_(None), work.c.kind.in_(kinds))
        if on is not None:
            query = query.where(work.c.platform.in_(("", on)))
        with self.database.read() as connection:
            return self.database.rows(connection, query.order_by(work.c.kind, work.c.id))

    def work(self, kinds: tuple[str, ...]) -> None:
        """Several threads make benchmarks; one of them also replays, since a replay needs the whole node."""
        if self.options.generate_only:
            kinds = ("generate",)
        steps = len(self.left(kinds, self.options.platform))
        if not steps:
            return
        ended = threading.Event()
        shown = threading.Thread(target=self._show, args=(kinds, ended), daemon=True)
        shown.start()
        try:
            with ThreadPoolExecutor(max(1, min(self.options.jobs, steps))) as pool:
                threads = [pool.submit(self._work, kinds if number == 0 else kinds[:1]) for number in range(min(self.options.jobs, steps))]
                for thread in threads:
                    thread.result()
        finally:
            ended.set()
            shown.join()

    def _show(self, kinds: tuple[str, ...], ended: threading.Event) -> None:
        while not ended.wait(1):
            with self.database.read() as connection:
                counts = Counter(connection.execute(sa.select(work.c.kind).where(work.c.night == self.number)).scalars())
            left = Counter(row.kind for row in self.left(kinds))
            kind = next((kind for kind in kinds if left[kind]), None)
            if kind:
                self.on_progress("benchmarks" if kind == "generate" else "replays", counts[kind] - left[kind], counts[kind])

    def _work(self, kinds: tuple[str, ...]) -> None:
        while left := self.left(kinds, self.options.platform):
            of_a_kind = sum(row.kind == left[0].kind for row in left)
            begin = random.randrange(of_a_kind)  # workers keep out of each other's way
            goes_on = False
            for row in left[begin:of_a_kind] + left[:begin] + left[of_a_kind:]:
                with self._taken(row) as item:
                    if item:
                        self._do(item)
                goes_on = goes_on or item is not False
                if item is None:
                    break  # the list is old
            if not goes_on:
                time.sleep(LOOK_S)

    @contextlib.contextmanager
    def _taken(self, row: Any) -> Iterator[Any]:
        """Takes a step. Yields False if another does it, None if another did it."""
        lock = self.locks / f"{row.id}.lock"
        with held(lock) as is_mine:
            item: Any = False
            if is_mine:
                with self.database.write() as connection:
                    item = connection.execute(TAKE, {"step": row.id}).first()
            yield item
            if is_mine:
                lock.unlink(missing_ok=True)

    def _do(self, item: Any) -> None:
        begin = time.monotonic()

        def seconds() -> float:
            return time.monotonic() - begin

        try:
            if item.attempts > MOST_ATTEMPTS:
                raise Problem(f"given up: it was begun {item.attempts - 1} times and ended its worker each time")
            step = Generate(self.context, item, seconds) if item.kind == "generate" else Replay(self.context, item, seconds)
            step.run()
        except DatabaseProblem:
            raise  # of the night, not of this job
        except (Problem, OSError) as problem:
            why = problem.text() if isinstance(problem, Problem) else f"{problem.filename}: {problem.strerror}"
            finish_failed(self.context, item, in_one_line(why), seconds())
        shutil.rmtree(self.locks / str(item.id), ignore_errors=True)

    def give_up(self, left: list[Any], is_alone: bool) -> None:
        """Ends replays on platforms that have no worker; if all workers are known to have ended, every step."""
        for platform in sorted({row.platform for row in left if is_alone or row.kind == "replay"}):
            with held(self._presence_of(platform)) as is_absent:
                if is_absent:
                    text = "no worker ended it" if is_alone else f"no worker on {platform} was heard of"
                    with self.database.write() as connection:
                        connection.execute(work.update().where(
                            work.c.night == self.number, work.c.platform == platform, work.c.outcome.is_(None),
                            sa.true() if is_alone else work.c.kind == "replay").values(outcome="not run", detail=text))

    def summed_up(self) -> Any:
        """Closes the night, unless another has, and returns its summary."""
        lock = self.locks / f"{self.number}.night"
        with held(lock, waits=True):
            with self.database.read() as connection:
                row = connection.execute(sa.select(night).where(night.c.id == self.number)).one()
            if row.state == "open":
                self.on_progress("looking for change points", 0, 0)
                points, not_looked_for = new_points(self.database, self.number, self.options.otava)
                with self.database.write() as connection:
                    told = put_points(self.database, connection, points)
                    summary = self._summary(connection, row, told, not_looked_for)
                    connection.execute(night.update().where(night.c.id == self.number).values(
                        state="closed", closed_utc=now_utc(), summary=summary))
                self._clean_up(lock)
                return summary
            return row.summary

    def _clean_up(self, lock: Path) -> None:
        lock.unlink(missing_ok=True)
        for path in [*self.locks.glob("*.platform"), *self.locks.glob("*.lock")]:  # those that killed workers left
            with held(path) as is_absent:
                if is_absent:
                    path.unlink(missing_ok=True)

    def _summary(self, connection: sa.Connection, row: Any, points: list[Any], not_looked_for: str) -> dict[str, Any]:
        events: dict[str, list[Any]] = {}
        query = sa.select(event).where(event.c.night == self.number).order_by(event.c.kind, event.c.job, event.c.platform)
        for told in self.database.rows(connection, query):
            events.setdefault(told.kind, []).append({"job": told.job, "platform": told.platform, "text": told.text, "detail": told.detail})
        steps = self.database.rows(connection, sa.select(work).where(work.c.night == self.number).order_by(work.c.kind, work.c.id))
        counts = Counter((step.kind, step.outcome) for step in steps)
        return {
            "format": "understudy-night", "version": 1, "night": self.number, "opened_utc": row.opened_utc, "jobs": row.jobs,
            "unchanged": {"by_time": row.unchanged, "by_content": counts["generate", "unchanged"] + counts["generate", "still broken"]},
            "made": counts["generate", "made"], "replayed": counts["replay", "replayed"],
            "compared": sum(1 for step in steps if step.compared),
            **{kind: events.get(kind, []) for kind in ("changed", "drifted", "broken")},
            "still_broken": self._still_broken(connection),
            **{kind: events.get(kind, []) for kind in ("slower", "faster", "recovered", "unjudged")},
            "change_points": points, "change_points_not_looked_for": not_looked_for,
            "skipped": [step.detail for step in steps if step.outcome == "skipped"],
            "not_run": [step.detail for step in steps if step.outcome == "not run"]}

    def _still_broken(self, connection: sa.Connection) -> list[Any]:
        jobs = jobs_of(self.database, connection)
        told = [{"job": row.name, "platform": "", "since_night": row.broken_night, "text": row.broken}
                for row in jobs if row.broken and row.broken_night < self.number]
        query = sa.select(failing, benchmark.c.benchmark_hash).outerjoin(benchmark, benchmark.c.id == failing.c.benchmark)
        for row in self.database.rows(connection, query.where(failing.c.since_night < self.number).order_by(failing.c.benchmark, failing.c.platform)):
            names = [other.name for other in jobs if other.benchmark_hash == row.benchmark_hash]
            told.append({"job": names[0] if names else "", "platform": row.platform, "since_night": row.since_night, "text": row.text})
        return told
