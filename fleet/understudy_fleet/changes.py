"""Change points: nights in which a series changed its level for good, which Apache Otava finds by looking back."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa

from .database import Database
from .programs import asked_of_judge
from .records import REPLAY, jobs_of, put_event, series_of
from .tables import environment, event, result

MOST_NIGHTS = 200
LEAST_NIGHTS = 6  # a shorter series has no change points
NEAR = 2  # nights by which Otava may move a point when results are added


def new_points(database: Database, night: int, otava: str) -> tuple[list[dict[str, Any]], str]:
    """Returns the events of change points that no earlier night told, and why they were not looked for if they were not."""
    with database.read() as connection:
        # By the index of nights: distinct or ordered rows would be looked for among all results.
        names = sorted(set(database.rows(connection, sa.select(result.c.platform, result.c.benchmark_hash).where(
            result.c.night >= night, result.c.source == REPLAY))))
        every = [(name, series_of(database, connection, name.benchmark_hash, name.platform, MOST_NIGHTS)) for name in names]
        every = [(name, series) for name, series in every if len(series) >= LEAST_NIGHTS]
        jobs = {row.benchmark_hash: row.name for row in reversed(jobs_of(database, connection))}
        known = database.rows(connection, sa.select(event).where(event.c.kind == "change point")) if every else []
    if not every:
        return [], ""
    answer = asked_of_judge("changes", {"series": [
        {"ms": [row.median_ms for row in series], "class_ms": [row.classes for row in series]} for _, series in every]},
        *(["--otava", otava] if otava else []))
    events = []
    for (name, series), points in zip(every, answer["series"]):
        own = [row for row in known if (row.benchmark_hash, row.platform) == (name.benchmark_hash, name.platform)]
        for point in points:
            if not _is_known(own, series, point):
                events.append(_event(database, jobs.get(name.benchmark_hash, ""), name, series, point))
    return events, answer["not_looked_for"]


def _is_slower(detail: dict[str, Any]) -> bool:
    return bool(detail.get("after_ms", 0) > detail.get("before_ms", 0))


def _is_known(own: list[Any], series: list[Any], point: dict[str, Any]) -> bool:
    places = {row.night: place for place, row in enumerate(series)}
    return any(row.night in places and abs(places[row.night] - point["index"]) <= NEAR and _is_slower(row.detail) == _is_slower(point)
               for row in own)


def _event(database: Database, job: str, name: Any, series: list[Any], point: dict[str, Any]) -> dict[str, Any]:
    before, first = series[point["index"] - 1], series[point["index"]]
    classes = ", ".join(f"{row['class']} {row['ms']:+.3f} ms" for row in point["classes"])
    text = (f"{point['after_ms'] / point['before_ms']:.2f} times as long since night {first.night}: {point['before_ms']:.3f} → "
            f"{point['after_ms']:.3f} ms{classes and ', of that ' + classes}{_environment_change(database, before, first)}")
    detail = {name: point[name] for name in ("before_ms", "after_ms", "p")}
    if point["classes"]:
        detail["class_ms"] = {row["class"]: row["ms"] for row in point["classes"]}
    return {"night": first.night, "kind": "change point", "job": job, "benchmark_hash": name.benchmark_hash, "platform": name.platform,
            "text": text, "detail": detail}


def _environment_change(database: Database, before: Any, after: Any) -> str:
    """Returns "; with it changed threads 2 → 1, torch 2.10 → 2.11" if two results' environments differ."""
    if before.environment == after.environment:
        return ""
    with database.read() as connection:
        found = {row.id: _flat(row.json) for row in connection.execute(
            sa.select(environment).where(environment.c.id.in_((before.environment, after.environment))))}
    a, b = found.get(before.environment, {}), found.get(after.environment, {})
    changed = [f"{name[-1]} {a.get(name, 'none')} → {b.get(name, 'none')}" for name in sorted({*a, *b}) if a.get(name) != b.get(name)]
    most = 8
    return "; with it changed " + ", ".join(changed[:most] + [f"{len(changed) - most} more"] * (len(changed) > most)) if changed else ""


def _flat(value: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], str]:
    if isinstance(value, dict):
        return {key: text for name, item in value.items() for key, text in _flat(item, (*path, name)).items()}
    return {path: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)} if value not in (None, "") else {}


def put_points(database: Database, connection: sa.Connection, points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Adds the events, and returns them as the night's summary has them: with the night that told the change already, if one did."""
    told = []
    for point in points:
        put_event(connection, **point)
        is_slower = _is_slower(point["detail"])
        earlier = connection.execute(sa.select(event.c.night).where(
            event.c.benchmark_hash == point["benchmark_hash"], event.c.platform == point["platform"],
            event.c.kind.in_(("slower",) if is_slower else ("faster", "recovered")),
            event.c.night.between(point["night"] - NEAR, point["night"] + NEAR)).order_by(event.c.night).limit(1)).scalar()
        told.append({"job": point["job"], "platform": point["platform"], "night": point["night"], "text": point["text"], "is_slower": is_slower,
                     "told_in_night": earlier, "detail": point["detail"]})
    return told
