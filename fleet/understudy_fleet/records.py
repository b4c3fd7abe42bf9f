"""Queries that several commands and steps ask of the database."""

from __future__ import annotations

import datetime
import hashlib
import json
from typing import Any

import sqlalchemy as sa

from .database import Database
from .problems import usage
from .tables import benchmark, environment, event, job, platform, result

REPLAY, PREDICTION = "replay", "prediction"
CHANGES = ("slower", "faster", "recovered", "change point")  # kinds of events of a series
# By importance: kinds of events, and states of jobs.
ORDER = ("broken", "slower", "change point", "drifted", "changed", "faster", "recovered", "unjudged")


def weight_of(kind: str) -> int:
    return ORDER.index(kind) if kind in ORDER else len(ORDER)


def now_utc() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def jobs_of(database: Database, connection: sa.Connection, *where: Any) -> list[Any]:
    """Returns jobs by name, with the hash of their benchmark."""
    query = sa.select(job, benchmark.c.benchmark_hash).outerjoin(benchmark, benchmark.c.id == job.c.benchmark)
    return database.rows(connection, query.where(*where).order_by(job.c.name))


def job_named(database: Database, name: str) -> Any:
    with database.read() as connection:
        found = jobs_of(database, connection, job.c.name == name)
    if not found:
        raise usage("no job has that name", got=name, hint="understudy fleet jobs lists them")
    return found[0]


def put(connection: sa.Connection, table: sa.Table, keys: dict[str, Any], values: dict[str, Any]) -> int:
    """Adds the row with these keys, or updates it. Returns its id."""
    where = [table.c[name] == value for name, value in keys.items()]
    columns = list(table.primary_key.columns)
    if found := connection.execute(sa.select(columns[0]).where(*where)).first():
        if values:
            connection.execute(table.update().where(*where).values(values))
        return int(found[0]) if columns[0].name == "id" else 0
    added = connection.execute(table.insert().values({**keys, **values}))
    return int(added.inserted_primary_key[0]) if columns[0].name == "id" and added.inserted_primary_key else 0


def put_event(connection: sa.Connection, **row: Any) -> None:
    """Adds an event unless a night has told it."""
    row = {"benchmark_hash": "", "platform": "", "detail": {}, **row}
    keys = {name: row.pop(name) for name in ("night", "kind", "job", "platform")}
    if not connection.execute(sa.select(event.c.id).where(*(event.c[name] == value for name, value in keys.items()))).first():
        connection.execute(event.insert().values({**keys, **row}))


def put_result(connection: sa.Connection, figures: dict[str, Any], where: dict[str, Any], told: dict[str, Any]) -> None:
    """Adds a result, once a night and source; one of no night (0) takes the place of the one before."""
    keys = {name: where[name] for name in ("benchmark_hash", "platform", "night", "source")}
    match = [result.c[name] == value for name, value in keys.items()]
    put(connection, platform, {"name": keys["platform"]}, {})
    if keys["night"] == 0:
        connection.execute(result.delete().where(*match))
    elif connection.execute(sa.select(result.c.id).where(*match)).first():
        return
    text = json.dumps(told["environment"], sort_keys=True, ensure_ascii=False)
    made = put(connection, environment, {"hash": hashlib.sha256(text.encode()).hexdigest()},
               {"software": told["software"], "json": told["environment"]})
    figures = {name: figures[name] for name in ("median_ms", "low_ms", "high_ms", "coverage", "peak_bytes")} | {"classes": figures["class_ms"]}
    connection.execute(result.insert().values(**keys, **figures, environment=made, date_utc=now_utc(), report=where.get("report")))


def series_of(database: Database, connection: sa.Connection, benchmark_hash: str, on: str, most: int) -> list[Any]:
    """Returns a series' newest replays, the oldest first, with the software that they ran with."""
    query = sa.select(result, environment.c.software).outerjoin(environment, environment.c.id == result.c.environment)
    query = query.where(result.c.platform == on, result.c.benchmark_hash == benchmark_hash, result.c.source == REPLAY)
    return database.rows(connection, query.order_by(result.c.id.desc()).limit(most))[::-1]


def newest_results(database: Database, connection: sa.Connection) -> list[Any]:
    """Returns the newest result of each benchmark that jobs have now on each platform; replays before predictions."""
    # One look into the index for each benchmark, platform and source, however long the series are.
    x, y = result.alias(), result.alias()
    own = sa.select(benchmark.c.benchmark_hash.label("hash")).join(job, job.c.benchmark == benchmark.c.id).distinct().subquery()

    def of(row: Any) -> Any:
        return sa.and_(row.c.platform == platform.c.name, row.c.benchmark_hash == own.c.hash)

    replayed = sa.select(y.c.source).where(of(y), y.c.source == REPLAY).limit(1).correlate(platform, own).scalar_subquery()
    newest = sa.select(sa.func.max(x.c.id)).where(of(x), x.c.source == sa.func.coalesce(replayed, PREDICTION)).correlate(platform, own)
    query = sa.select(result, environment.c.software).select_from(own).join(platform, sa.true()).join(result, result.c.id == newest.scalar_subquery())
    query = query.outerjoin(environment, environment.c.id == result.c.environment)
    return database.rows(connection, query.order_by(result.c.platform, result.c.benchmark_hash))


def figures_of(row: Any) -> dict[str, Any]:
    """Returns a result as `judge` reads it."""
    return {"median_ms": row.median_ms, "low_ms": row.low_ms, "high_ms": row.high_ms, "coverage": row.coverage, "peak_bytes": row.peak_bytes,
            "class_ms": row.classes, "is_predicted": row.source != REPLAY}


def benchmark_rows(database: Database, connection: sa.Connection, newest: list[Any], with_prints: bool) -> list[dict[str, Any]]:
    """Returns what `judge` compares: a row for each benchmark that jobs have now, with the sum of their weights."""
    rows: dict[str, dict[str, Any]] = {}
    for row in jobs_of(database, connection, job.c.benchmark.is_not(None)):
        made = rows.setdefault(row.benchmark_hash, {"job": row.name, "benchmark_hash": row.benchmark_hash, "weight": 0.0, "times": {}})
        made["weight"] += row.weight
    if with_prints:
        for row in current_benchmarks(database, connection):
            rows[row.benchmark_hash]["fingerprint"] = row.fingerprint
    for row in newest:
        rows[row.benchmark_hash]["times"][row.platform] = figures_of(row)
    return sorted(rows.values(), key=lambda row: row["job"])


def current_benchmarks(database: Database, connection: sa.Connection) -> list[Any]:
    return database.rows(connection, sa.select(benchmark).where(benchmark.c.id.in_(sa.select(job.c.benchmark))).order_by(benchmark.c.id))


def first_benchmarks(database: Database, connection: sa.Connection) -> dict[str, str]:
    """Returns for each job that ever changed the hash of its first benchmark."""
    found: dict[str, str] = {}
    for row in database.rows(connection, sa.select(event.c.job, event.c.detail).where(event.c.kind == "changed").order_by(event.c.night, event.c.id)):
        if "before" in row.detail:
            found.setdefault(row.job, row.detail["before"])
    return found
