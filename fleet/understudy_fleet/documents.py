"""What commands and pages show, as documents that `judge` draws (docs/formats.md, "fleet --format json")."""

from __future__ import annotations

import datetime
import math
import statistics
from collections import Counter
from pathlib import Path
from typing import Any, Iterator

import sqlalchemy as sa

from .database import Database
from .problems import reading
from .records import CHANGES, PREDICTION, REPLAY, benchmark_rows, current_benchmarks, jobs_of, newest_results, series_of, weight_of
from .store import Store
from .tables import benchmark, event, failing, night, platform, result, work

Document = dict[str, Any]


def jobs_document(database: Database) -> Document:
    with database.read() as connection:
        jobs = jobs_of(database, connection)
        made = {row.id: row for row in database.rows(connection, sa.select(
            benchmark.c.id, benchmark.c.benchmark_hash, benchmark.c.object, benchmark.c.world_size, benchmark.c.bytes))}
        fails: dict[str, list[Any]] = {}
        for row in database.rows(connection, sa.select(failing).order_by(failing.c.benchmark, failing.c.platform)):
            if row.benchmark in made:
                fails.setdefault(made[row.benchmark].benchmark_hash, []).append(row)
    rows = []
    for row in jobs:
        own, kept = fails.get(row.benchmark_hash or "", []), made.get(row.benchmark)
        state = (f"broken since night {row.broken_night}" if row.broken else
                 "replay fails on " + ", ".join(f"{fail.platform} since night {fail.since_night}" for fail in own) if own else
                 "ok" if kept else "new")
        rows.append({
            "job": row.name, "path": row.path, "weight": row.weight, "flags": row.flags, "tags": row.tags or {}, "state": state,
            "broken": row.broken or "",
            "failing_replays": [{"platform": fail.platform, "since_night": fail.since_night, "text": fail.text} for fail in own],
            "benchmark_hash": kept.benchmark_hash if kept else None, "object": kept.object if kept else None,
            "ranks": kept.world_size if kept else None, "bytes": kept.bytes if kept else None})
    return {"format": "understudy-fleet-jobs", "version": 1, "jobs": rows}


def verify_document(database: Database, store: Store, judged: Any) -> Document:
    """Checks every object against its hash, and benchmarks against the database. `judged` asks for what benchmarks' files hold."""
    with database.read() as connection:
        made = database.rows(connection, sa.select(benchmark.c.id, benchmark.c.object, benchmark.c.benchmark_hash).order_by(benchmark.c.id))
        jobs = jobs_of(database, connection)
        first = sa.select(sa.func.min(result.c.id)).where(result.c.report.is_not(None)).group_by(result.c.report)
        reports = database.rows(connection, sa.select(
            result.c.report, result.c.benchmark_hash, result.c.platform, result.c.night).where(result.c.id.in_(first)).order_by(result.c.id))
    of_hash = {row.benchmark_hash: row.name for row in reversed(jobs)}
    of_benchmark = {row.benchmark: row.name for row in reversed(jobs)}
    faults: list[Document] = []
    seen: set[str] = set()

    def check(digest: str, of: str) -> None:
        if digest not in seen:
            seen.add(digest)
            if fault := store.fault(digest):
                faults.append({"object": digest, "path": str(store.path(digest)), "what": fault, "of": of})

    for row in made:
        check(row.object, f"benchmark {row.benchmark_hash}" + (f" of {of_benchmark[row.id]}" if row.id in of_benchmark else ""))
    broken = {fault["object"] for fault in faults}
    whole = [row for row in made if row.object not in broken]
    for row, told in zip(whole, judged([str(store.path(row.object)) for row in whole])):
        if what := told.get("error") or (told["benchmark_hash"] != row.benchmark_hash and "another benchmark than the database says"):
            faults.append({"object": row.object, "path": str(store.path(row.object)), "what": what, "of": f"benchmark {row.benchmark_hash}"})
    for row in reports:
        check(row.report, f"report of {of_hash.get(row.benchmark_hash, 'benchmark ' + row.benchmark_hash)} on {row.platform}, night {row.night}")
    unreferred = [digest for digest, _ in store.objects() if digest not in seen]
    for digest in unreferred:
        check(digest, "nothing")
    return {"format": "understudy-fleet-verify", "version": 1, "checked": len(seen), "unreferred": len(unreferred), "faults": faults}


def seconds_between(begin: str, end: str | None) -> float | None:
    try:
        a, b = (datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ") for text in (begin, end or ""))
    except ValueError:
        return None
    return (b - a).total_seconds()


def shortened(text: str, most: int = 160) -> str:
    """Returns a text, cut at the end of a word; the job's own page has the whole."""
    end = text.rfind(" ", 0, most + 1)
    return text if len(text) <= most or end < 0 else text[:end] + " …"


def tags_of(row: Any) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted((row.tags or {}).items()))


def number(value: float | None) -> float | None:
    return None if value is None else float(value)


class Fleet:
    """What all pages tell of, read once. The newest night has the news of each job."""

    def __init__(self, database: Database, nights: int, results: int, only: str = "", has_store: bool = False) -> None:
        self.database, self.results, self.only, self.has_store = database, results, only, has_store
        self.changes: dict[tuple[str, str], float] = {}
        with database.read() as connection:
            self.jobs = jobs_of(database, connection)
            self.benchmarks = {row.id: row for row in current_benchmarks(database, connection)}
            self.nights = database.rows(connection, sa.select(night).order_by(night.c.id.desc()).limit(nights))
            events = database.rows(connection, sa.select(event).order_by(event.c.night, event.c.kind, event.c.job))
            self.newest = newest_results(database, connection)
            self.platforms = list(connection.execute(sa.select(platform.c.name).order_by(platform.c.name)).scalars())
        drifted = {(row.night, row.job) for row in events if row.kind == "drifted"}  # it has changed, too, and is told once
        self.events = [row for row in events if row.kind != "changed" or (row.night, row.job) not in drifted]
        self.places = {row.id: place for place, row in enumerate(self.events)}
        self.by_night: dict[int, list[Any]] = {}
        self.by_hash: dict[str, list[Any]] = {}  # those of replays
        self.by_job: dict[str, list[Any]] = {}
        for row in self.events:
            self.by_night.setdefault(row.night, []).append(row)
            self.by_job.setdefault(row.job, []).append(row)
            if row.platform:
                self.by_hash.setdefault(row.benchmark_hash, []).append(row)
        newest = self.nights[0] if self.nights else None
        summary = newest.summary if newest and newest.summary else {}
        with reading("a night's summary"):
            self.turned = [_Told(newest.id, "change point", point["job"], point["platform"], point["text"])  # type: ignore[union-attr]
                           for point in summary.get("change_points", [])]
            self.still_broken = {row["job"]: row["text"] for row in reversed(summary.get("still_broken", []))}
        self.of_hash: dict[str, list[Any]] = {}
        for row in self.newest:
            self.of_hash.setdefault(row.benchmark_hash, []).append(row)

    def newest_of(self, row: Any) -> Any:
        own = self.of_hash.get(row.benchmark_hash or "", [])
        return max(own, key=lambda found: found.night) if own else None

    def events_of(self, row: Any) -> list[Any]:
        """Returns a job's events, and those of replays of a benchmark that it shares with other jobs, the newest first."""
        own = {told.id: told for told in self.by_job.get(row.name, []) + self.by_hash.get(row.benchmark_hash, [])}
        return sorted(own.values(), key=lambda told: self.places[told.id], reverse=True)

    def news_of(self, row: Any) -> Any:
        """Returns the weightiest event of a job in the newest night."""
        if not self.nights:
            return None
        newest = self.nights[0].id
        own = [told for told in self.by_night.get(newest, []) + self.turned
               if told.job == row.name or (told.platform and row.benchmark_hash and told.benchmark_hash == row.benchmark_hash)]
        return min(own, key=lambda told: weight_of(told.kind)) if own else None

    def failing_text(self, row: Any) -> str:
        if row.name in self.still_broken:
            return str(self.still_broken[row.name])
        news = self.news_of(row)
        return news.text if news is not None and news.kind == "broken" else ""

    def state_of(self, row: Any) -> str:
        if row.broken or row.name in self.still_broken:
            return "broken"
        news = self.news_of(row)
        return news.kind if news is not None else "ok" if row.benchmark else "new"

    def note_of(self, row: Any) -> str:
        news = self.news_of(row)
        if news is not None and not row.broken:
            return f"night {news.night}: {shortened(news.text)}"
        return shortened(row.broken or self.failing_text(row))

    def night_json(self, row: Any) -> Document:
        summary, counts = row.summary or {}, Counter(told.kind for told in self.by_night.get(row.id, []))
        with reading("a night's summary"):
            by_content = summary.get("unchanged", {}).get("by_content", 0)
            told = {name: len(summary.get(key, [])) for name, key in (("still_broken", "still_broken"), ("turned", "change_points"), ("unjudged", "unjudged"))}
        return {
            "name": str(row.id), "date": row.opened_utc, "state": "done" if row.closed_utc else "open", "jobs": row.jobs,
            "unchanged": max(0, row.unchanged) + by_content, "generated": summary.get("made", 0), "replayed": summary.get("replayed", 0),
            "broken": counts["broken"], "still_broken": told["still_broken"], "slower": counts["slower"], "faster": counts["faster"],
            "recovered": counts["recovered"], "drifted": counts["drifted"], "turned": told["turned"], "unjudged": told["unjudged"],
            "duration_s": seconds_between(row.opened_utc, row.closed_utc)}

    def nights_document(self) -> Document:
        return {"format": "understudy-fleet-nights", "version": 1, "nights": [{**self.night_json(row), "summary": row.summary} for row in self.nights]}

    def results_of(self, benchmark_hash: str, on: str) -> list[Any]:
        """Returns a series' newest replays, and keeps their change: the newest ÷ the median of up to ten before it."""
        with self.database.read() as connection:
            rows = series_of(self.database, connection, benchmark_hash, on, max(self.results, 11))
        if before := [row.median_ms for row in rows[-11:-1]]:
            self.changes[benchmark_hash, on] = rows[-1].median_ms / statistics.median(before)
        return rows[-self.results:]

    def job_json(self, row: Any) -> Document:
        newest = self.newest_of(row)
        figures = {name: None if newest is None else number(getattr(newest, column)) for name, column in (
            ("ms", "median_ms"), ("low_ms", "low_ms"), ("high_ms", "high_ms"))}
        return {
            "name": row.name, "state": self.state_of(row), "weight": row.weight, "platform": newest.platform if newest else "", **figures,
            "change": None if newest is None else self.changes.get((newest.benchmark_hash, newest.platform)),
            "coverage": None if newest is None else number(newest.coverage), "tags": tags_of(row), "note": self.note_of(row)}

    def class_share(self) -> dict[str, float]:
        """Returns Σ weight × class's share of a job's time ÷ Σ weight."""
        shares: dict[str, float] = {}
        weights = 0.0
        for row in self.jobs:
            newest = self.newest_of(row)
            whole = sum(newest.classes.values()) if newest is not None else 0
            if whole > 0:
                weights += row.weight
                for name, ms in newest.classes.items():
                    shares[name] = shares.get(name, 0) + row.weight * ms / whole
        return {name: share / weights for name, share in sorted(shares.items())} if weights else {}

    def fleet_document(self, name: str) -> Document:
        jobs = sorted(map(self.job_json, self.jobs), key=lambda row: weight_of(row["state"]))
        platforms: dict[str, Document] = {}
        for row in self.newest:
            made = platforms.setdefault(row.platform, {"platform": row.platform, "benchmarks": 0, "predicted": 0, "newest": ""})
            made["benchmarks"] += 1
            made["predicted"] += row.source == PREDICTION
            made["newest"] = max(made["newest"], row.date_utc)
        newest = self.nights[0] if self.nights else None
        told = self.by_night.get(newest.id, []) + self.turned if newest else []
        return {
            "page": "fleet", "name": name, "date": newest.opened_utc if newest else "",
            "events": events_json(sorted(told, key=lambda row: weight_of(row.kind)), False), "jobs": jobs,
            "nights": [self.night_json(row) for row in self.nights], "platforms": list(platforms.values()), "subsets": [],
            "class_share": self.class_share()}

    def series(self, benchmark_hash: str) -> list[Document]:
        """Returns a benchmark's results on each platform, then predictions for platforms without replays."""
        found = []
        for on in self.platforms:
            if (not self.only or on == self.only) and (rows := self.results_of(benchmark_hash, on)):
                report = replay_name(rows[-1]) if rows[-1].report and self.has_store else ""
                found.append(self.series_json(benchmark_hash, on, rows, report))
        return found + [self.series_json(benchmark_hash, row.platform, [row], "") for row in self.of_hash.get(benchmark_hash, [])
                        if row.source == PREDICTION and (not self.only or row.platform == self.only)]

    def series_json(self, benchmark_hash: str, on: str, rows: list[Any], report: str) -> Document:
        told = [row for row in self.by_hash.get(benchmark_hash, []) if row.platform == on and rows[0].source == REPLAY]
        return {
            "platform": on, "report": report,
            "results": [{
                "night": str(row.night) if row.night else None, "date": row.date_utc, "ms": row.median_ms, "low_ms": row.low_ms,
                "high_ms": row.high_ms, "coverage": number(row.coverage), "peak_bytes": max(0, row.peak_bytes), "source": row.source,
                "software": row.software or "", "class_ms": row.classes} for row in rows],
            "events": [{"night": row.night, "kind": row.kind, "text": row.text, "before_ms": row.detail.get("before_ms", 0),
                        "after_ms": row.detail.get("after_ms", 0)} for row in told if row.kind in CHANGES]}

    def benchmark_document(self, row: Any) -> Document:
        told, earlier, events = {row.benchmark_hash}, [], self.events_of(row)
        for found in events:
            before = found.detail.get("before", "") if found.kind in ("changed", "drifted") else ""
            if before and before not in told:
                told.add(before)
                earlier.append({"benchmark_hash": before, "until_night": found.night, "platforms": self.series(before)})
        document = {
            "format": "understudy-fleet-history", "version": 1, "job": row.name, "benchmark_hash": row.benchmark_hash or "",
            "state": self.state_of(row), "broken": row.broken or "", "failing": self.failing_text(row), "traces": row.path,
            "flags": " ".join(row.flags), "weight": row.weight, "tags": tags_of(row), "is_timed": False, "class_share": {}, "platforms": [],
            "earlier": earlier, "events": events_json(events, True)}
        if made := self.benchmarks.get(row.benchmark):
            of = made.fingerprint
            with reading("a fingerprint"):
                document |= {
                    "made_utc": made.made_utc, "generator": made.generator, "ranks": made.world_size, "is_timed": of["is_timed"],
                    "step_ms": of["step_ms"] or None, "operator_names": len(of["operators"]), "collectives": len(of["collectives"]),
                    "losses": of["losses"], "class_share": of["class_share"], "platforms": self.series(row.benchmark_hash)}
        return document

    def night_document(self, row: Any) -> Document:
        """Returns the summary of a night that has ended, with its work step by step."""
        jobs = {found.id: found.name for found in self.jobs}
        of_benchmark = {found.benchmark: found.name for found in reversed(self.jobs)}
        with self.database.read() as connection:
            steps = self.database.rows(connection, sa.select(work, benchmark.c.benchmark_hash).outerjoin(
                benchmark, sa.and_(work.c.kind == "replay", benchmark.c.id == work.c.subject)).where(
                    work.c.night == row.id, work.c.outcome.is_not(None)).order_by(work.c.kind, work.c.id))
        return {**row.summary, **({"work": [{
            "job": (jobs if step.kind == "generate" else of_benchmark).get(step.subject) or self.name_of_former(step), "kind": step.kind,
            "platform": step.platform, "state": step.outcome, "duration_s": step.seconds, "attempts": step.attempts, "text": step.detail}
            for step in steps]} if steps else {})}

    def name_of_former(self, step: Any) -> str:
        if step.kind == "generate":
            return "a job that was removed"
        for row in self.events:
            if row.kind in ("changed", "drifted") and step.benchmark_hash and step.benchmark_hash in (row.benchmark_hash, row.detail.get("before")):
                return f"{row.job}, as it was"
        return "a benchmark that no job has"

    def site(self, name: str, baseline: str, folder: str, store: Store | None) -> Iterator[Document]:
        """Yields what `judge site` draws: the frame, then the pages."""
        with self.database.read() as connection:
            rows = benchmark_rows(self.database, connection, self.newest, with_prints=True)
        ended = [row for row in self.nights if row.summary]
        yield {"fleet_name": name, "date": self.nights[0].opened_utc if self.nights else "", "jobs": [row.name for row in self.jobs],
               "nights": [row.id for row in ended], "baseline": baseline, "newest": ended[0].summary if ended else None,
               "open_night": self.nights[0].id if self.nights and not self.nights[0].summary else None, "benchmarks": rows}
        for row in self.jobs:
            yield {"page": "benchmark", "document": self.benchmark_document(row)}
        yield {"page": "fleet", "document": self.fleet_document(name)}
        for row in ended:
            yield {"page": "night", "document": self.night_document(row), "date": row.opened_utc}
        for row in self.newest:
            if folder and row.source == REPLAY and row.report:  # without the store the page says that the report is gone
                path = store.path(row.report) if store else Path(folder) / row.report
                yield {"page": "replay", "name": replay_name(row), "path": str(path)}


def replays_document(database: Database, summary: Document) -> Document:
    """Returns a night's summary with the times of its replays, those first that differ most from the night before."""
    earlier = result.alias()
    before = sa.select(earlier.c.median_ms).where(
        earlier.c.platform == result.c.platform, earlier.c.benchmark_hash == result.c.benchmark_hash, earlier.c.source == REPLAY,
        earlier.c.night < result.c.night).order_by(earlier.c.id.desc()).limit(1).scalar_subquery()
    with database.read() as connection:
        rows = database.rows(connection, sa.select(result, before.label("before_ms")).where(
            result.c.night == summary["night"], result.c.source == REPLAY))
        names = {row.benchmark_hash: row.name for row in reversed(jobs_of(database, connection))}
    replays = [{"job": names.get(row.benchmark_hash, "a benchmark that no job has"), "platform": row.platform, "ms": row.median_ms,
                "low_ms": row.low_ms, "high_ms": row.high_ms, "before_ms": row.before_ms,
                "ratio": row.median_ms / row.before_ms if row.before_ms else None} for row in rows]
    return {**summary, "replays": sorted(replays, key=lambda row: (-abs(math.log(row["ratio"] or 1)), row["job"]))} if replays else summary


class _Told:
    """An event that only a summary has."""

    def __init__(self, night: int, kind: str, job: str, platform: str, text: str) -> None:
        self.night, self.kind, self.job, self.platform, self.text, self.benchmark_hash = night, kind, job, platform, text, ""


def replay_name(row: Any) -> str:
    return f"{row.benchmark_hash} {row.platform} {row.night}"


def events_json(rows: list[Any], with_nights: bool) -> list[Document]:
    return [{"night": str(row.night) if with_nights else "", "kind": row.kind, "job": row.job, "text": row.text, "platform": row.platform} for row in rows]
