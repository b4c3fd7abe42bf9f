"""The fleet's database: SQLite's file or PostgreSQL's address, opened without trust in what a stranger wrote into it."""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
import sys
import time
import urllib.parse
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool

from . import tables
from .problems import DatabaseProblem, damaged, usage

PATIENCE_S = 180
# Pages of an untrusted file can show the same rows again and again.
MOST_S = 60  # of the processor, for a query
MOST_BYTES, MOST_OF_FILE = 64 << 20, 16  # of a query's rows: so much, and as often a file's bytes
MOST_HEAP_BYTES = 1 << 30  # that SQLite sorts in
STEPS_BETWEEN_LOOKS = 100_000
MAGIC = bytes.fromhex("d9d505f920a163d7")  # that a journal ends with which names a file for SQLite to delete


def is_postgres(url: str) -> bool:
    return url.startswith(("postgresql://", "postgres://"))


def shown(url: str) -> str:
    """Returns a database's name without the password in its address."""
    if not is_postgres(url):
        return url
    address, mark, query = url.partition("?")
    head, at, host = address.rpartition("@")
    user, colon, _ = head.partition("//")[2].partition(":")
    address = f"{head.partition('//')[0]}//{user}{colon and ':***'}{at}{host}" if at else address
    fields = [f"{field.partition('=')[0]}=***" if field.startswith("password=") else field for field in query.split("&")]
    return address + mark + "&".join(fields)


def refuse_shared_folder(database: Path) -> None:
    """Refuses a database beside which other users can replace files, or a folder above it: SQLite trusts these files, and no check
    before it opens them holds."""
    for below in (database, *database.parents[:-1]):
        folder = below.parent
        try:
            found = folder.stat()
        except OSError:
            continue
        is_own = found.st_uid in (os.geteuid(), 0)
        # A user's private group has the user's number. Owners alone rename what is in a sticky folder.
        others = stat.S_IWOTH | (0 if found.st_gid == found.st_uid else stat.S_IWGRP)
        is_kept = below != database and found.st_mode & stat.S_ISVTX
        if not is_own or (found.st_mode & others and not is_kept):
            raise usage("the fleet's database cannot be opened", file=database, expected="a folder that no other user can write",
                        got=f"{folder}, which {'others' if is_own else 'its owner'} can",
                        hint="several users share a fleet on PostgreSQL: postgresql://…")


def refuse_side_files(path: str) -> Path:
    """Refuses, before SQLite opens a database, files beside it that are not its own. Returns the database's path without links."""
    database = Path(path).resolve()
    refuse_shared_folder(database)
    for ending in ("-journal", "-wal", "-shm"):
        file = f"{database}{ending}"
        try:
            found = os.lstat(file)
        except OSError:
            continue
        got = None
        if not stat.S_ISREG(found.st_mode) or found.st_uid not in (os.geteuid(), database.stat().st_uid if database.exists() else 0):
            got = "something else"
        elif ending == "-journal":  # closing the others would end locks that this process has on them
            with open(file, "rb") as journal:
                journal.seek(-min(len(MAGIC), found.st_size), os.SEEK_END)
                got = "a journal that names another file to delete" if journal.read() == MAGIC else None
        if got:
            raise damaged(file=file, expected="a plain file of the database", got=got)
    return database


class Limited(sqlite3.Connection):
    """A connection whose queries take limited time."""

    end_s = float("inf")

    def look(self) -> int:
        return int(time.thread_time() > self.end_s)


class Database:
    """An open fleet. Commands and steps use it in transactions, from any number of threads."""

    def __init__(self, url: str, creates: bool = False) -> None:
        self.url = url
        self.is_sqlite = not is_postgres(url)
        if self.is_sqlite:
            self._refuse_no_file(creates)
            self._engine = sa.create_engine("sqlite://", creator=lambda: self._connect(creates), poolclass=QueuePool, pool_size=64)
            sa.event.listen(self._engine, "before_cursor_execute", _limit)
            sa.event.listen(self._engine, "begin", _begin)
        else:
            import psycopg  # an own fleet in a file does without

            # A server may have dropped a connection of more than a minute.
            self._engine = sa.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(url, autocommit=True), pool_recycle=60)
            sa.event.listen(self._engine, "begin", _begin_there)
        with self.errors():
            self._prepare(creates)

    def _refuse_no_file(self, creates: bool) -> None:
        path = Path(self.url)
        if creates or path.is_file():
            return
        if not path.exists():
            raise usage("no fleet found", file=self.url, expected="a fleet's database", got="no such file",
                        hint=f"make one: understudy fleet init {self.url}")
        raise usage("the fleet's database cannot be opened", file=self.url, expected="a fleet's database", got="no file of data")

    def _connect(self, creates: bool) -> sqlite3.Connection:
        path = refuse_side_files(self.url)
        address = f"file:{urllib.parse.quote(str(path))}?mode={'rwc' if creates else 'rw'}"
        made = sqlite3.connect(address, uri=True, timeout=PATIENCE_S, isolation_level=None, check_same_thread=False, factory=Limited)
        made.end_s = time.thread_time() + MOST_S
        made.set_progress_handler(made.look, STEPS_BETWEEN_LOOKS)
        # With WAL and NORMAL, a killed process loses nothing; a power failure may lose the last transactions as a whole, whose
        # work is then repeated. Views and triggers of a stranger would run in our queries.
        for pragma in ("trusted_schema=OFF", f"hard_heap_limit={MOST_HEAP_BYTES}", "temp_store=MEMORY", "synchronous=NORMAL", "foreign_keys=ON"):
            made.execute(f"PRAGMA {pragma}")
        self._write_ahead(made)
        foreign = made.execute("SELECT name FROM sqlite_master WHERE sql IS NOT NULL AND sql NOT LIKE 'CREATE TABLE %' AND "
                               "sql NOT LIKE 'CREATE INDEX %' AND sql NOT LIKE 'CREATE UNIQUE INDEX %'").fetchone()
        if foreign:
            raise damaged(file=self.url, expected="tables and indices alone", got=foreign[0])
        return made

    @staticmethod
    def _write_ahead(made: sqlite3.Connection) -> None:
        """SQLite's own timeout does not cover processes that open a new file at the same time: two that want to write its header would
        block each other for ever."""
        end_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                made.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as problem:
                if "locked" not in str(problem) or time.monotonic() > end_s:
                    raise
                time.sleep(0.05)

    def _prepare(self, creates: bool) -> None:
        with self._engine.connect() as connection:
            if self._version(connection) == tables.VERSION:
                return
        with self.write() as connection:
            version = self._version(connection)
            if version == tables.VERSION:
                return  # made meanwhile
            if version:
                raise usage("the fleet was made by another version", expected=f"tables of version {tables.VERSION}", got=version,
                            hint="use that version of Understudy, or make a new fleet")
            if self._has(connection, "job") or self._has(connection, "result"):
                raise usage("the database holds something else", expected="a fleet's tables, or none",
                            got="tables of these names without a fleet's version", hint="take another database")
            if not creates:
                raise usage("no fleet found", file=self.url if self.is_sqlite else "", expected="a fleet's tables",
                            got="a database without any", hint="understudy fleet init makes them; or restore a copy of the fleet")
            tables.metadata.create_all(connection)
            connection.execute(tables.fleet_version.insert().values(version=tables.VERSION))
            connection.execute(tables.setting.insert().values(name="id", value=secrets.token_hex(16)))

    def _has(self, connection: sa.Connection, name: str) -> bool:
        sql = ("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = :name" if self.is_sqlite else
               "SELECT 1 FROM pg_tables WHERE schemaname = ANY (current_schemas(false)) AND tablename = :name")
        return connection.execute(sa.text(sql), {"name": name}).first() is not None

    def _version(self, connection: sa.Connection) -> int:
        if not self._has(connection, "fleet_version"):
            return 0
        return connection.execute(sa.select(tables.fleet_version.c.version)).scalar() or 0

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """A transaction that writes: one at a time, as SQLite has it anyway."""
        with self.errors(), self._engine.connect().execution_options(writes=True) as connection, connection.begin():
            yield connection

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        with self.errors(), self._engine.connect() as connection, connection.begin():
            yield connection

    def rows(self, connection: sa.Connection, query: Any, **values: Any) -> list[Any]:
        """Returns a query's rows; no more than a file of its size can hold."""
        found: list[Any] = []
        taken = 0
        for part in connection.execute(query, values or None).partitions(1000):
            found += part
            taken += sum(sys.getsizeof(value) for row in part for value in row)
            if self.is_sqlite and taken > MOST_BYTES and taken > MOST_BYTES + MOST_OF_FILE * self._file_bytes():
                raise damaged(file=self.url, expected="rows that a file of its size can hold", got=f"more than {len(found)} in one table")
        return found

    def _file_bytes(self) -> int:
        return sum(os.path.getsize(file) for file in (self.url, f"{self.url}-wal") if os.path.exists(file))

    def back_up(self, path: str) -> None:
        if not self.is_sqlite:
            raise usage("PostgreSQL's database is copied by its own tools", field="--backup", expected="a fleet on SQLite", hint="pg_dump")
        copy = refuse_side_files(path)
        with self.errors(), self._engine.connect() as connection:
            source = connection.connection.driver_connection
            with sqlite3.connect(copy) as target:
                source.backup(target)  # type: ignore[union-attr]
            target.close()

    def setting(self, name: str) -> str:
        with self.read() as connection:
            return connection.execute(sa.select(tables.setting.c.value).where(tables.setting.c.name == name)).scalar() or ""

    def set_setting(self, name: str, value: str) -> None:
        with self.write() as connection:
            connection.execute(tables.setting.delete().where(tables.setting.c.name == name))
            connection.execute(tables.setting.insert().values(name=name, value=value))

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Names the database in errors about it."""
        try:
            yield
        except DatabaseProblem as problem:
            problem.facts.setdefault("file", shown(self.url))
            raise
        except (DBAPIError, sqlite3.Error) as problem:
            raise self._problem(problem.orig if isinstance(problem, DBAPIError) else problem) from problem

    def _problem(self, cause: BaseException | None) -> DatabaseProblem:
        got, file = str(cause).strip(), shown(self.url)
        if isinstance(cause, sqlite3.OperationalError) and "locked" in got:
            return DatabaseProblem("the fleet's database does not answer", file=file, got=got,
                                   hint="see what holds it; what was finished is kept, run the command again")
        if got == "interrupted":
            return damaged(file=file, expected=f"queries of at most {MOST_S} s", got="one that takes longer")
        if self.is_sqlite and (type(cause) is sqlite3.DatabaseError or got.startswith(("no such", "out of memory"))):
            return damaged(file=file, got=got)
        return DatabaseProblem("the fleet's database failed", file=file, got=got, hint="see that " + (
            "the disk has room and can be written" if self.is_sqlite else "its server answers, and has room"))


def _limit(connection: Any, *_: Any) -> None:
    connection.connection.driver_connection.end_s = time.thread_time() + MOST_S


def _begin(connection: sa.Connection) -> None:
    # A transaction that will write takes the lock at once: SQLite may refuse it to one that has already read.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")


def _begin_there(connection: sa.Connection) -> None:
    # A step waits for each answer, so nothing is said that can be left out: what only reads needs no transaction, since each of its
    # statements sees what was committed before it.
    if connection.get_execution_options().get("writes"):
        connection.exec_driver_sql("BEGIN; SELECT pg_advisory_xact_lock(7386)")
