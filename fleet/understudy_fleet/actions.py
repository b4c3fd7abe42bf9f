"""What each command of `understudy fleet` does."""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from understudy import programs as own_programs
from understudy.endings import USAGE

from . import inputs, slurm
from .database import Database, shown
from .documents import Fleet, jobs_document, replays_document, verify_document
from .night import KINDS, Night, Progress
from .options import say
from .problems import CANNOT_WRITE, Problem, in_one_line, reading, usage
from .programs import asked_of_judge, find_tools, judge, judge_lines, run_program
from .records import benchmark_rows, current_benchmarks, first_benchmarks, job_named, jobs_of, newest_results, now_utc, put_result
from .steps import Context, Options
from .store import Store, make_store, write_file
from .tables import VERSION, benchmark, job, night, result

# What a night tells of jobs, in the order of a report.
TOLD = ("broken", "slower", "change_points", "still_broken", "drifted", "faster", "recovered", "unjudged")
UNSURE = 3  # the status of `compare --fail-on unsure`, too
LEAST_AGE_S = 3600  # younger objects may belong to work in progress


def shown_page(database: Any, task: str, request: Any, *flags: str) -> int:
    with database.errors():
        status, text = judge(task, request, *flags)
    say(text)
    return status


# init, add, remove, jobs


def remember_store(database: Any, folder: str) -> Path:
    whole = Path(os.path.abspath(folder))
    make_store(whole, database.setting("id"))
    database.set_setting("store", str(whole))
    return whole


def open_store(database: Any, asked: str) -> Any:
    known = database.setting("store")
    if not asked and not known:
        raise usage("no store is known for the benchmarks", field="--store", expected="a folder, once; it is remembered",
                    hint="understudy fleet nightly fleet.db --store store/")
    if not known:
        remember_store(database, asked)
    return Store(Path(os.path.abspath(asked or known)), database.setting("id"))


def run_init(given: Any) -> int:
    database = Database(given.database, creates=True)
    if given.store:
        remember_store(database, given.store)
    if not given.quiet:
        name = shown(given.database)
        say(f"{name}: a fleet, version {VERSION} of its tables\nAdd jobs: understudy fleet add {name} TRACES\n" +
            ("" if given.store else "No store yet: give --store DIR to the first `understudy fleet nightly`\n"))
    return 0


def tags_in(texts: list[str]) -> dict[str, str]:
    tags = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise usage("a tag cannot be read", field="--tag", expected="NAME=VALUE", got=text)
        tags[name] = value
    return tags


def jobs_to_add(given: Any) -> list[dict[str, Any]]:
    if inputs.is_manifest(given.path):
        for key in ("name", "weight", "tag", "flags", "each"):
            if key in given.given:
                raise usage("flags cannot go with a manifest", file=given.path, field=f"--{key}", expected="a manifest alone",
                            hint="write it into the manifest")
        return inputs.Manifest(given.path).jobs()
    found = inputs.jobs_at(given.path, given.each)
    if given.name and len(found) > 1:
        raise usage("several jobs cannot have one name", field="--name", expected="the traces of one job", got=f"{len(found)} jobs")
    if refused := inputs.refused_flag(given.flags):
        raise usage("flags that a job cannot have", field="--flags", expected=inputs.ALLOWED, got=refused,
                    hint="what else generate does is not for the store")
    own = {"weight": given.weight, "tags": tags_in(given.tag), "flags": given.flags}
    return [{**row, **own, "name": given.name or row["name"]} for row in found]


def run_add(given: Any) -> int:
    found = jobs_to_add(given)
    database = Database(given.database)
    keeps = set() if inputs.is_manifest(given.path) else {"weight", "tags", "flags"} - {{"tag": "tags"}.get(key, key) for key in given.given}
    counts = {"added": 0, "changed": 0, "as before": 0}
    with database.write() as connection:
        known = {row.name: row for row in jobs_of(database, connection)}
        for row in found:
            before = known.get(row["name"])
            if before is None:
                connection.execute(job.insert().values(**row, added_utc=now_utc()))
                counts["added"] += 1
                continue
            was = {"path": before.path, "weight": before.weight, "tags": before.tags or {}, "flags": before.flags}
            values = {name: was[name] if name in keeps else row[name] for name in was}
            counts["as before" if values == was else "changed"] += 1
            connection.execute(job.update().where(job.c.id == before.id).values(values))
        whole = connection.execute(sa.select(sa.func.count()).select_from(job)).scalar()
    if not given.quiet:
        say(", ".join(f"{count} {name}" for name, count in counts.items()) + f"; {whole} in the fleet\n")
    return 0


def run_remove(given: Any) -> int:
    database = Database(given.database)
    with database.write() as connection:
        for name in given.job:
            if not connection.execute(job.delete().where(job.c.name == name)).rowcount:
                raise usage("no job has that name", got=name, hint="understudy fleet jobs lists them")
    if not given.quiet:
        say(f"{len(given.job)} removed\n")
    return 0


def run_jobs(given: Any) -> int:
    database = Database(given.database)
    document = jobs_document(database)
    sentence = "" if document["jobs"] else f"No jobs. Add some: understudy fleet add {shown(given.database)} TRACES"
    return shown_page(database, "page", {"document": document, "sentence": sentence}, "--format", given.format)


# nightly, worker


def context_of(given: Any, generate_only: bool) -> Any:
    database = Database(given.database)
    store = open_store(database, given.store)
    tools = find_tools(replays=not generate_only)
    options = Options(
        platform=given.platform or tools.platform, jobs=given.jobs or tools.cores, regenerates=given.regenerate,
        drift_above=given.drift_above, generate_only=generate_only, iterations=given.iterations, seconds=given.seconds,
        flags=given.replay_flags, launcher=given.launcher, oversubscribes=given.oversubscribe, timeout_s=given.timeout,
        least_change=given.slower_by / 100)
    return Context(database, store, tools, options)


def check_replay_flags(context: Any) -> None:
    """Refuses flags that `replay` does not take, which would break every job: it is started once with a file that is not there."""
    if context.options.flags and not context.options.generate_only:
        ended = run_program([*context.tools.replay, str(context.store.folder / "no benchmark"), "--quiet", *context.options.flags],
                            {"UNDERSTUDY_PROGRESS": "off"})
        if ended.status == USAGE:
            raise usage("flags that replay does not take", field="--replay-flags", expected="flags of replay", got=in_one_line(ended.errors))


def run_nightly(given: Any) -> int:
    context = context_of(given, given.generate_only)
    options = context.options
    options.otava = given.otava
    own = Night(context, Progress(given.quiet))
    if given.engine == "slurm":
        logs = slurm.logs_of(context.store.folder)
        context.store.make_folder(logs)
        if not given.quiet:
            print(f"waiting for Slurm, whose jobs write to {logs}", file=sys.stderr, flush=True)
        if not given.platform:
            options.platform = ""  # of each node's own kind
        calls = slurm.commands(given.database, context.store.folder, options, given.replay_nodes, given.slurm_flags, own_programs.command("fleet"))
        options.platform = given.platform or context.tools.platform
        summary = own.run(lambda: slurm.submit(calls))
    else:
        check_replay_flags(context)
        summary = own.run()
    with context.database.errors():
        status, text = judge("page", {"document": replays_document(context.database, summary)}, "--format", given.format)
    if given.output:
        write_output(given.output, text)
    elif not given.quiet:
        say(text)
    is_unsure = summary["unjudged"] or summary["compared"] < summary["replayed"]
    return UNSURE if status == 0 and given.fail_on and is_unsure else status


def write_output(name: str, text: str) -> None:
    try:
        write_file(Path(name), text.encode())
    except OSError as problem:
        raise Problem("the output cannot be written", CANNOT_WRITE, file=name, got=problem.strerror,
                      hint="see that its folder is there and has room") from problem


def run_worker(given: Any) -> int:
    context = context_of(given, given.only == "generate")
    check_replay_flags(context)
    was_open = Night(context, Progress(given.quiet)).help((given.only,) if given.only else KINDS)
    if not given.quiet:
        say("Nothing is left to do here\n" if was_open else "No night is open\n")
    return 0


# history, report, platforms, select, drift, import


def run_history(given: Any) -> int:
    database = Database(given.database)
    fleet = Fleet(database, given.last, given.last, given.platform)
    document = fleet.benchmark_document(job_named(database, given.job)) if given.job else fleet.nights_document()
    return shown_page(database, "page", {"document": document}, "--format", given.format)


def run_report(given: Any) -> int:
    database = Database(given.database)
    if given.format == "markdown":
        text = newest_night(database)
        if given.output:
            write_output(given.output, text)
        else:
            say(text)
        return 0
    if not given.output:
        raise usage("invalid arguments", got="--output is required", hint="understudy fleet report --help lists the flags")
    folder = database.setting("store")
    fleet = Fleet(database, given.nights, given.last, has_store=bool(folder))
    store = None
    if folder:
        try:
            store = Store(Path(folder), database.setting("id"))
        except Problem:
            store = None  # the pages of replays say so
    name = Path(given.database.partition("?")[0]).name
    with database.errors():
        status, text = judge_lines("site", fleet.site(name, given.baseline, folder, store), "-o", given.output, *(["--quiet"] if given.quiet else []))
    say(text)
    return status


def newest_night(database: Any) -> str:
    """Returns what the newest night that has ended told, as Markdown."""
    with database.read() as connection:
        summary = connection.execute(sa.select(night.c.summary).where(night.c.state == "closed").order_by(night.c.id.desc()).limit(1)).scalar()
    if summary is None:
        raise usage("no night has ended", hint=f"understudy fleet nightly {shown(database.url)}")
    with database.errors(), reading("a night's summary"):
        title, verdict, *_ = judge("page", {"document": summary})[1].splitlines()
        rows = [(kind.replace("_", " "), row["job"], row["platform"], row["text"]) for kind in TOLD for row in summary[kind]]
    lines = [f"**{in_markdown(title)}**", "", in_markdown(verdict)]
    if rows:
        lines += ["", "| | job | platform | |", "| --- | --- | --- | --- |", *(f"| {' | '.join(map(in_markdown, row))} |" for row in rows)]
    return "\n".join(lines) + "\n"


def in_markdown(text: str) -> str:
    """Returns a text without what Markdown, its tables and HTML would take for theirs."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(text.split()))


def rows_for_judge(database: Any, with_prints: bool) -> list[dict[str, Any]]:
    with database.read() as connection:
        return benchmark_rows(database, connection, newest_results(database, connection), with_prints)


def run_platforms(given: Any) -> int:
    database = Database(given.database)
    rows = rows_for_judge(database, with_prints=False)
    return shown_page(database, "platforms", {"baseline": given.baseline, "benchmarks": rows}, "--format", given.format)


def run_select(given: Any) -> int:
    if given.output and Path(given.output).resolve() == Path(given.database).resolve():
        raise usage("the output is an input", file=given.output, field="--output", hint="choose another name")
    database = Database(given.database)
    request = {"budget": given.budget, "max_error": given.max_error, "platforms": given.platform, "seed": given.seed,
               "benchmarks": rows_for_judge(database, with_prints=True)}
    flags = (["-o", given.output] if given.output else []) + (["--quiet"] if given.quiet else [])
    return shown_page(database, "select", request, "--format", given.format, *flags)


def run_drift(given: Any) -> int:
    database = Database(given.database)
    with database.read() as connection:
        current = {row.id: row.fingerprint for row in current_benchmarks(database, connection)}
        first_of = first_benchmarks(database, connection)
        prints = {row.benchmark_hash: row.fingerprint for row in database.rows(connection, sa.select(benchmark).where(
            benchmark.c.benchmark_hash.in_(set(first_of.values()))).order_by(benchmark.c.id))}
        rows = []
        for row in jobs_of(database, connection):
            if row.benchmark in current:
                first = first_of.get(row.name, row.benchmark_hash)
                before = prints.get(first) if first != row.benchmark_hash else None
                rows.append({"job": row.name, "from": first, "to": row.benchmark_hash, "before": before, "now": current[row.benchmark]})
    request = {"above": given.above, "all": given.all, "jobs": rows}
    return shown_page(database, "drift", request, "--format", given.format, *(["--quiet"] if given.quiet else []))


def run_import(given: Any) -> int:
    database = Database(given.database)
    own = None
    if given.job:
        own = job_named(database, given.job).benchmark_hash
        if not own:
            raise usage("the job has no benchmark", field="--job", got=given.job, hint="understudy fleet jobs lists them")
    found = list(zip(given.file, asked_of_judge("results", {"files": given.file})["results"]))
    with database.write() as connection:
        for file, told in found:
            named = told["benchmark_hash"]
            if not named and not own:
                raise usage("the file names no benchmark", file=file, field="--job", expected="a job's name", hint="the file has no benchmark_hash")
            if own and named and named != own:
                raise usage("the file is of another benchmark", file=file, field="benchmark_hash", expected=f"{own}, of {given.job}", got=named)
            if not connection.execute(sa.select(benchmark.c.id).where(benchmark.c.benchmark_hash == (own or named))).first():
                raise usage("no job has the benchmark of the file", file=file, field="benchmark_hash",
                            expected="one that `understudy fleet jobs` lists", got=named,
                            hint="predict or run the benchmark that the job has in the store")
            put_result(connection, told["result"], {"benchmark_hash": own or named, "platform": given.platform, "night": 0,
                                                    "source": "prediction" if told["result"]["is_predicted"] else "replay"}, told)
    if not given.quiet:
        say(f"{len(found)} result{'' if len(found) == 1 else 's'} for {given.platform}\n")
    return 0


# verify, gc


def run_verify(given: Any) -> int:
    database = Database(given.database)
    store = open_store(database, given.store)

    def judged(paths: list[str]) -> list[Any]:
        return list(asked_of_judge("benchmarks", {"benchmarks": [{"path": path, "before": None} for path in paths]})["benchmarks"])

    return shown_page(database, "page", {"document": verify_document(database, store, judged)}, "--format", given.format)


def unused_benchmarks(database: Any, connection: Any) -> list[int]:
    """Returns benchmarks that have no result and are neither a job's current nor its first one, which `drift` compares with."""
    names = {row.name for row in jobs_of(database, connection)}
    first = {made for name, made in first_benchmarks(database, connection).items() if name in names}
    query = sa.select(benchmark.c.id, benchmark.c.benchmark_hash).where(
        ~sa.exists().where(job.c.benchmark == benchmark.c.id), ~sa.exists().where(result.c.benchmark_hash == benchmark.c.benchmark_hash))
    return [row.id for row in database.rows(connection, query) if row.benchmark_hash not in first]


def run_gc(given: Any) -> int:
    database = Database(given.database)
    store = open_store(database, given.store)
    if given.backup:
        if Path(given.backup).resolve() == Path(given.database).resolve():
            raise usage("the output is an input", file=given.backup, field="--backup", hint="choose another name")
        database.back_up(given.backup)
    # Rows first, in one transaction, then files: one without a row is found again; a row without its file would be a loss.
    with database.read() if given.dry_run else database.write() as connection:
        first_kept = 0
        if given.keep_nights:
            first_kept = connection.execute(
                sa.select(night.c.id).order_by(night.c.id.desc()).offset(given.keep_nights - 1).limit(1)).scalar() or 0
        has_report, is_old = result.c.report.is_not(None), result.c.night < first_kept
        reports = connection.execute(sa.select(sa.func.count()).where(has_report, is_old)).scalar() or 0
        unused = unused_benchmarks(database, connection)
        if not given.dry_run:
            connection.execute(result.update().where(has_report, is_old).values(report=None))
            connection.execute(benchmark.delete().where(benchmark.c.id.in_(unused)))
        referred = {row.object for row in database.rows(connection, sa.select(benchmark.c.id, benchmark.c.object)) if row.id not in unused}
        referred |= {row.report for row in database.rows(connection, sa.select(result.c.report).distinct().where(has_report, ~is_old))}
    files = size = 0
    for digest, path in store.objects():
        found = path.stat()
        if digest not in referred and time.time() - found.st_mtime >= LEAST_AGE_S:
            files, size = files + 1, size + found.st_size
            if not given.dry_run:
                store.remove(digest)
    left, left_bytes = store.remove_leftovers(LEAST_AGE_S, given.dry_run)
    if not given.quiet:
        say(f"{'Would delete' if given.dry_run else 'Deleted'} {len(unused)} benchmarks and {reports} reports: {files + left} files, "
            f"{with_bytes(size + left_bytes)}\n")
    return 0


def with_bytes(size: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            break
        size /= 1024
    else:
        unit = "TiB"
    return f"{size} B" if unit == "B" else f"{size:.1f} {unit}"
