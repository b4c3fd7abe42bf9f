"""The two steps of a night: a job's benchmark, and a benchmark's replay. Each is a command whose outputs are renamed when whole and used where
they are there, so a step that was killed goes on."""

from __future__ import annotations

import math
import os
import statistics
import zipfile
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, Callable

import sqlalchemy as sa

from understudy.endings import BAD_INPUT, USAGE

from .database import Database
from .inputs import ALLOWED, benchmark_key, input_hash, input_stat, refused_flag
from .problems import Problem, in_one_line
from .programs import Ended, JudgeOfLines, Tools, asked_of_judge, node_lock, run_program
from .records import CHANGES, REPLAY, jobs_of, now_utc, put, put_event, put_result, series_of
from .store import Store
from .tables import benchmark, event, failing, job, night_platform, work

GENERATE_S = 3600  # that a benchmark may take to be made
BASELINE_NIGHTS = 5  # that are held against tonight
MOST_NIGHTS = 200  # in which the level before a change is looked for
# Open MPI needs these to run as root, and with more ranks than cores.
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
       "OMPI_MCA_hwloc_base_binding_policy": "none"}
QUIET = {"UNDERSTUDY_PROGRESS": "off"}
# Of each step: to put a statement together takes longer than to run it.
END = work.update().where(work.c.id == sa.bindparam("step"), work.c.outcome.is_(None)).values(
    outcome=sa.bindparam("what"), detail=sa.bindparam("more"), seconds=sa.bindparam("took"), compared=sa.bindparam("nights"))
JOB = sa.select(job, benchmark.c.benchmark_hash, benchmark.c.object, benchmark.c.fingerprint).outerjoin(
    benchmark, benchmark.c.id == job.c.benchmark).where(job.c.id == sa.bindparam("job"))
MADE = sa.select(benchmark).where(benchmark.c.key == sa.bindparam("made_of"))
PLATFORMS = sa.select(night_platform.c.platform).where(night_platform.c.night == sa.bindparam("in_night"))


@dataclass
class Options:
    """How this process works on a night: of its command line alone, since somebody else may have written the database."""

    platform: str
    jobs: int = 1
    regenerates: bool = False
    generate_only: bool = False
    drift_above: float = 0.1
    otava: str = ""
    iterations: int | None = None
    seconds: float | None = None
    flags: list[str] = field(default_factory=list)
    launcher: list[str] = field(default_factory=lambda: ["mpirun", "-np", "{ranks}"])
    oversubscribes: bool = False
    timeout_s: float = 1800
    least_change: float = 0.03


@dataclass
class Context:
    database: Database
    store: Store
    tools: Tools
    options: Options
    benchmarks: JudgeOfLines = field(default_factory=lambda: JudgeOfLines("benchmarks"))

    def finish(self, item: Any, outcome: str, detail: str, seconds: float, then: Callable[[sa.Connection], None], compared: int = 0) -> None:
        """Ends a step with what follows from it, once."""
        with self.database.write() as connection:
            done = connection.execute(END, {"step": item.id, "what": outcome, "more": detail, "took": seconds, "nights": compared})
            if done.rowcount:
                then(connection)


def nothing(_: sa.Connection) -> None:
    pass


def add_replays(context: Context, connection: sa.Connection, night: int, benchmarks: list[Any], platforms: list[str]) -> None:
    """Adds replays to a night, one for each hash and platform."""
    known = sa.select(work.c.platform, benchmark.c.benchmark_hash).join(benchmark, benchmark.c.id == work.c.subject)
    has = {tuple(row) for row in context.database.rows(connection, known.where(work.c.night == night, work.c.kind == "replay"))}
    rows = []
    for made in benchmarks:
        for platform in platforms:
            if (platform, made.benchmark_hash) not in has:
                has.add((platform, made.benchmark_hash))
                rows.append({"night": night, "kind": "replay", "subject": made.id, "platform": platform, "attempts": 0})
    if rows:
        connection.execute(work.insert(), rows)


def benchmark_of(connection: sa.Connection, number: int | None) -> Any:
    return connection.execute(sa.select(benchmark).where(benchmark.c.id == number)).first() if number else None


class Step:
    """Work on one item."""

    def __init__(self, context: Context, item: Any, seconds: Callable[[], float]) -> None:
        self.context, self.item, self.seconds = context, item, seconds
        self.database, self.store, self.options = context.database, context.store, context.options
        self.folder = context.store.folder / "work" / str(item.id)  # what a killed worker left whole in it is used

    def finish(self, outcome: str, detail: str, then: Callable[[sa.Connection], None] = nothing, compared: int = 0) -> None:
        self.context.finish(self.item, outcome, detail, self.seconds(), then, compared)


class Generate(Step):
    """Makes a job's benchmark anew if its traces, the generator or its flags changed."""

    def find_job(self) -> bool:
        with self.database.read() as connection:
            self.job: Any = connection.execute(JOB, {"job": self.item.subject}).first()
        self.before: Any = self.job if self.job and self.job.object else None  # the benchmark that it has
        return bool(self.job)

    def run(self) -> None:
        if not self.find_job():
            self.finish("skipped", "the job was removed")
            return
        if word := refused_flag(self.job.flags):  # a fleet's database is not trusted: docs/trust.md
            raise Problem("flags that a job cannot have", BAD_INPUT, expected=ALLOWED, got=word, hint="understudy fleet add with other --flags")
        looked, is_recent = input_stat(self.job.path)
        self.stat = None if is_recent else looked
        self.content = input_hash(self.job.path)
        self.key = benchmark_key(self.content, self.context.tools.generator, self.job.flags)
        if not self.options.regenerates and self.is_known():
            return
        made = self.folder / f"{self.key}.et"
        if not made.exists():
            self.store.make_folder(self.folder)
            ended = self.generate(self.folder / "new.et")
            if ended.status:
                self.finish_broken(ended)
                return
            if input_stat(self.job.path)[0] != looked:
                raise Problem("the traces changed while they were read", file=self.job.path, hint="the next night reads them again")
            os.replace(self.folder / "new.et", made)
        self.finish_with(made, None)

    def generate(self, to: Path) -> Ended:
        # An absolute path: the database could name a path that reads as a flag.
        words = [*self.context.tools.generate, os.path.abspath(self.job.path), "-o", str(to), "--quiet", *self.job.flags]
        with node_lock(times=False) as lock:
            return run_program(words, QUIET, GENERATE_S, lock)

    def is_known(self) -> bool:
        """Ends the step if a benchmark of this key exists, or if this key failed before for good."""
        with self.database.read() as connection:
            found = connection.execute(MADE, {"made_of": self.key}).first()
        if found and self.store.has(found.object):
            self.finish_with(self.store.path(found.object), found)
            return True
        if self.job.broken_key != self.key or not self.job.broken:
            return False
        self.break_job(self.job.broken, self.key, is_new=False, looked=self.stat)
        return True

    def finish_broken(self, ended: Ended) -> None:
        comes_again = ended.status in (BAD_INPUT, USAGE)  # a bad trace, or bad flags
        why = f"not done within {GENERATE_S} s" if ended.timed_out else in_one_line(ended.errors) or f"generate ended with status {ended.status}"
        # A failure that may pass is tried again each night, and told when its reason changes.
        is_new = not self.job.broken or (self.job.broken_key != self.key if comes_again else self.job.broken != why)
        self.break_job(why, self.key if comes_again else None, is_new, self.stat if comes_again else None, self.content)

    def break_job(self, why: str, key: str | None, is_new: bool, looked: str | None = None, content: str | None = None) -> None:
        """Records that the newest traces give no benchmark. The one before is kept, and replayed; so is the night in which the job broke."""
        def then(connection: sa.Connection) -> None:
            read = {"input_hash": content} if content else {}
            connection.execute(job.update().where(job.c.id == self.job.id).values(
                broken=why, broken_key=key, broken_night=self.job.broken_night or self.item.night, input_stat=looked, **read))
            if self.before and self.store.has(self.before.object):
                self.add_own_replays(connection, self.job.benchmark)
            if is_new:
                put_event(connection, night=self.item.night, kind="broken", job=self.job.name, text=why)

        self.finish("broken" if is_new else "still broken", why, then)

    def add_own_replays(self, connection: sa.Connection, number: int) -> None:
        if platforms := list(connection.execute(PLATFORMS, {"in_night": self.item.night}).scalars()):
            add_replays(self.context, connection, self.item.night, [benchmark_of(connection, number)], platforms)

    def finish_with(self, path: Path, known: Any) -> None:
        """Ends the step with the benchmark at a path: one that the database has, or (None) a new one."""
        before = self.before
        is_as_before = known is not None and before is not None and before.object == known.object
        told: dict[str, Any] = {}
        if not is_as_before and (known is None or before):
            (told,) = self.context.benchmarks.ask({"benchmarks": [
                {"path": str(path), "before": before.fingerprint if before else None}]})["benchmarks"]
            if "error" in told:
                raise Problem(told["error"], file=path)
        row = {} if known else self.new_row(path, told)
        if row and before and before.object == row["object"]:
            is_as_before, told = True, {}

        def then(connection: sa.Connection) -> None:
            number = known.id if known else put(connection, benchmark, {"key": self.key}, row)
            connection.execute(job.update().where(job.c.id == self.job.id).values(
                benchmark=number, input_stat=self.stat, input_hash=self.content, broken=None, broken_key=None, broken_night=None))
            if drift := told.get("drift"):
                for kind in ("changed", "drifted") if drift["distance"] > self.options.drift_above else ("changed",):
                    put_event(connection, night=self.item.night, kind=kind, job=self.job.name, benchmark_hash=told["benchmark_hash"],
                              text=drift["text"], detail={"distance": round(drift["distance"], 4), "before": before.benchmark_hash})
            self.add_own_replays(connection, number)

        self.finish("unchanged" if is_as_before else "made", self.job.name, then)

    def new_row(self, path: Path, told: dict[str, Any]) -> dict[str, Any]:
        content = path.read_bytes()
        return {"object": self.store.put(content), "bytes": len(content), "generator": self.context.tools.generator, "flags": self.job.flags,
                "input_hash": self.content, "made_utc": now_utc(),
                **{name: told[name] for name in ("benchmark_hash", "world_size", "fingerprint")}}


class Replay(Step):
    """Replays a benchmark and has the result judged against the nights before."""

    def run(self) -> None:
        with self.database.read() as connection:
            self.benchmark = benchmark_of(connection, self.item.subject)
            jobs = jobs_of(self.database, connection, benchmark.c.benchmark_hash == self.benchmark.benchmark_hash) if self.benchmark else []
        if not jobs:
            self.finish("skipped", "no job has this benchmark any more")
            return
        self.name = jobs[0].name
        self.others = f"; it stands for {', '.join(row.name for row in jobs[1:])}, too" if jobs[1:] else ""
        cores, ranks = self.context.tools.cores, self.benchmark.world_size
        if ranks > cores and not self.options.oversubscribes:
            self.finish("skipped", f"{self.name}: {ranks} ranks on {cores} cores (--oversubscribe runs it)")
            return
        if fault := self.store.fault(self.benchmark.object):
            self.take_away(fault)
            return
        nights = self.judged_nights()
        since = self.change.night if self.change else 0
        before = [str(self.store.path(row.report)) for row in reversed(nights) if row.report and row.night >= since]
        report = self.replay("first")
        verdict = self.judge(before, report, None)
        if verdict["change"] != "none":  # at once again: a change that does not come again is none
            report = self.replay("again")
            verdict = self.judge(before, report, verdict)
        self.finish_replayed(report, verdict, nights)

    def judged_nights(self) -> list[Any]:
        """Returns the series' results of nights that were judged, the oldest first, and looks for its last change."""
        own = (event.c.benchmark_hash == self.benchmark.benchmark_hash, event.c.platform == self.item.platform)
        with self.database.read() as connection:
            self.change = connection.execute(sa.select(event).where(*own, event.c.kind.in_(CHANGES)).order_by(
                event.c.night.desc(), event.c.id.desc()).limit(1)).first()
            unjudged = set(connection.execute(sa.select(event.c.night).where(*own, event.c.kind == "unjudged")).scalars())
            series = series_of(self.database, connection, self.benchmark.benchmark_hash, self.item.platform, MOST_NIGHTS)
        return [row for row in series if row.night not in unjudged and row.night != self.item.night]

    def take_away(self, fault: str) -> None:
        """Tells of a missing or damaged file, and removes it: the next night makes the benchmark again."""
        why = f"its benchmark is {fault} in the store ({self.store.path(self.benchmark.object)}); the next night makes it anew"

        def then(connection: sa.Connection) -> None:
            connection.execute(job.update().where(job.c.benchmark == self.benchmark.id).values(input_stat=None))
            set_failing(connection, self.item, why)
            put_event(connection, night=self.item.night, kind="broken", job=self.name, benchmark_hash=self.benchmark.benchmark_hash,
                      platform=self.item.platform, text=why)

        self.finish("broken", why, then)
        if fault != "missing":
            self.store.remove(self.benchmark.object)

    def replay(self, name: str) -> Path:
        report, new, bench = self.folder / f"{name}.json", self.folder / "new.json", self.folder / "bench.et"
        if report.exists():
            return report
        self.store.make_folder(self.folder)
        bench.unlink(missing_ok=True)
        bench.symlink_to(self.store.path(self.benchmark.object).absolute())
        options, ranks = self.options, self.benchmark.world_size
        words = [word.replace("{ranks}", str(ranks), 1) for word in options.launcher] if ranks > 1 else []
        words += [*self.context.tools.replay, str(bench), "--report", str(new), "--quiet"]
        words += ["--iterations", str(options.iterations)] if options.iterations else []
        words += ["--seconds", f"{options.seconds:g}"] if options.seconds else []
        with node_lock(times=True) as lock:
            ended = run_program([*words, *options.flags], {**MPI, **QUIET}, options.timeout_s, lock)
            if ended.timed_out:
                raise Problem(f"replay ended with status {ended.status}", got=f"not done within {options.timeout_s:.0f} s")
        if ended.status:
            raise Problem(f"replay ended with status {ended.status}", got=in_one_line(ended.errors))
        os.replace(new, report)
        return report

    def judge(self, before: list[str], report: Path, first: Any) -> Any:
        return asked_of_judge("night", {"before": before, "tonight": str(report), "least_change": self.options.least_change, "first": first})

    def as_before(self, median_ms: float, nights: list[Any]) -> str:
        """Returns "; as before night 7 (58.000 ms)" if a series that had become slower is back at its earlier level."""
        change = self.change
        if not change or not (change.kind == "slower" or change.kind == "change point" and
                              change.detail.get("after_ms", 0) > change.detail.get("before_ms", 0)):
            return ""
        before = [row.median_ms for row in nights if row.night < change.night][-BASELINE_NIGHTS:]
        level_ms = statistics.median(before) if before else math.nan
        is_again = abs(math.log(median_ms / level_ms)) <= math.log1p(self.options.least_change)
        return f"; as before night {change.night} ({level_ms:.3f} ms)" if is_again else ""

    def finish_replayed(self, report: Path, verdict: Any, nights: list[Any]) -> None:
        figures, kind, text = verdict["result"], verdict["change"], verdict["text"]
        if kind == "faster" and (as_before := self.as_before(figures["median_ms"], nights)):
            kind, text = "recovered", text + as_before
        packed = BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(zipfile.ZipInfo("report.json"), report.read_bytes(), zipfile.ZIP_DEFLATED)
        stored = self.store.put(packed.getvalue())
        own = {"benchmark_hash": self.benchmark.benchmark_hash, "platform": self.item.platform, "night": self.item.night}

        def then(connection: sa.Connection) -> None:
            put_result(connection, figures, {**own, "source": REPLAY, "report": stored}, verdict)
            connection.execute(failing.delete().where(failing.c.benchmark == self.benchmark.id, failing.c.platform == self.item.platform))
            if kind != "none":
                put_event(connection, **own, kind=kind, job=self.name, text=text + self.others, detail=verdict["detail"])

        self.finish("replayed", f"{figures['median_ms']:.3f} ms", then, verdict["compared"])


def set_failing(connection: sa.Connection, item: Any, why: str) -> None:
    own = {"benchmark": item.subject, "platform": item.platform}
    known = connection.execute(sa.select(failing.c.since_night).filter_by(**own)).scalar()
    put(connection, failing, own, {"since_night": known or item.night, "text": why})


def finish_failed(context: Context, item: Any, why: str, seconds: float) -> None:
    """Ends a step that failed. The failure is told unless the last attempt failed, too."""
    if item.kind == "generate":
        step = Generate(context, item, lambda: seconds)
        if step.find_job():  # else it was removed meanwhile
            step.break_job(why, None, is_new=not step.job.broken)
        return
    with context.database.read() as connection:
        known = connection.execute(sa.select(failing).filter_by(benchmark=item.subject, platform=item.platform)).first()
        names = [row.name for row in jobs_of(context.database, connection, job.c.benchmark == item.subject)]

    def then(connection: sa.Connection) -> None:
        set_failing(connection, item, why)
        if not known:
            put_event(connection, night=item.night, kind="broken", job=names[0] if names else "", platform=item.platform, text=why)

    context.finish(item, "still broken" if known else "broken", why, seconds, then)
