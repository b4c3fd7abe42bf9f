"""The fleet's tables, each column declared once (docs/formats.md, "fleet.db")."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import BigInteger, Column, Double, Index, MetaData, Table, TypeDecorator, UniqueConstraint, types
from sqlalchemy.dialects import sqlite

from .problems import damaged

VERSION = 1


class Checked(TypeDecorator[Any]):
    """A column's type. SQLite holds anything in any column, and a stranger may have written it: what is read is checked."""

    cache_ok = True
    impl: Any = types.Text
    expected = "a text"
    kinds: tuple[type, ...] = (str,)

    def process_result_value(self, value: Any, dialect: Any) -> Any:
        if value is not None and not isinstance(value, self.kinds):
            raise damaged(expected=self.expected, got="a value of another type")
        return value


class Text(Checked):
    cache_ok = True


class Integer(Checked):
    cache_ok = True
    impl = BigInteger
    expected, kinds = "a whole number", (int,)

    def load_dialect_impl(self, dialect: Any) -> Any:
        return dialect.type_descriptor(sqlite.INTEGER() if dialect.name == "sqlite" else BigInteger())


class Real(Checked):
    cache_ok = True
    impl = Double
    expected, kinds = "a number", (float, int)


class Json(Checked):
    """JSON that this program wrote: an object, or a list of texts."""

    cache_ok = True

    def __init__(self, kind: type = dict) -> None:
        super().__init__()
        self.kind = kind

    def process_bind_param(self, value: Any, dialect: Any) -> str | None:
        return None if value is None else json.dumps(value, ensure_ascii=False, allow_nan=False)

    def process_result_value(self, value: Any, dialect: Any) -> Any:
        if value is None:
            return None
        try:
            found = json.loads(super().process_result_value(value, dialect))
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, self.kind) or (isinstance(found, list) and not all(isinstance(item, str) for item in found)):
            raise damaged(expected="a JSON object" if self.kind is dict else "a JSON list of texts", got=repr(value[:60]))
        return found


metadata = MetaData()


def key() -> Column[Any]:
    return Column("id", Integer, primary_key=True)


def needed(name: str, kind: Any) -> Column[Any]:
    return Column(name, kind, nullable=False)


def table(name: str, *parts: Any) -> Table:
    return Table(name, metadata, *parts, sqlite_autoincrement="id" in [part.name for part in parts if isinstance(part, Column)])


fleet_version = table("fleet_version", needed("version", Integer))
setting = table("setting", Column("name", Text, primary_key=True), needed("value", Text))
job = table(
    "job", key(), Column("name", Text, nullable=False, unique=True), needed("path", Text), needed("weight", Real), needed("flags", Json(list)),
    Column("tags", Json), needed("added_utc", Text), Column("input_stat", Text), Column("input_hash", Text), Column("benchmark", Integer),
    Column("broken", Text), Column("broken_key", Text), Column("broken_night", Integer))
benchmark = table(
    "benchmark", key(), Column("key", Text, nullable=False, unique=True), needed("object", Text), needed("bytes", Integer),
    needed("benchmark_hash", Text), needed("world_size", Integer), needed("generator", Text), needed("flags", Json(list)),
    needed("input_hash", Text), needed("fingerprint", Json), needed("made_utc", Text), Index("benchmark_by_hash", "benchmark_hash"))
environment = table("environment", key(), Column("hash", Text, nullable=False, unique=True), needed("software", Text), needed("json", Json))
night = table(
    "night", key(), needed("opened_utc", Text), Column("closed_utc", Text), needed("state", Text), needed("jobs", Integer),
    needed("unchanged", Integer), Column("summary", Json))
night_platform = table("night_platform", Column("night", Integer, primary_key=True), Column("platform", Text, primary_key=True))
work = table(  # a night's steps; without an outcome one is to be done
    "work", key(), needed("night", Integer), needed("kind", Text), needed("subject", Integer), needed("platform", Text),
    needed("attempts", Integer), Column("outcome", Text), Column("detail", Text), Column("seconds", Real), Column("compared", Integer),
    UniqueConstraint("night", "kind", "subject", "platform"))
failing = table(  # replays whose last attempt failed
    "failing", Column("benchmark", Integer, primary_key=True), Column("platform", Text, primary_key=True), needed("since_night", Integer),
    needed("text", Text))
platform = table("platform", Column("name", Text, primary_key=True))
result = table(
    "result", key(), needed("benchmark_hash", Text), needed("platform", Text), needed("environment", Integer), needed("night", Integer),
    needed("date_utc", Text), needed("source", Text), needed("median_ms", Real), Column("low_ms", Real), Column("high_ms", Real),
    Column("coverage", Real), needed("peak_bytes", Integer), needed("classes", Json), Column("report", Text),
    UniqueConstraint("benchmark_hash", "platform", "night", "source"), Index("result_by_night", "night"),
    Index("result_by_platform", "platform", "benchmark_hash", "id"), Index("result_by_report", "report"))
event = table(
    "event", key(), needed("night", Integer), needed("kind", Text), needed("job", Text), needed("benchmark_hash", Text),
    needed("platform", Text), needed("text", Text), needed("detail", Json), UniqueConstraint("night", "kind", "job", "platform"),
    Index("event_by_series", "benchmark_hash", "platform", "kind", "night"))
