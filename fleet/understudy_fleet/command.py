"""The commands of `understudy fleet`."""

from __future__ import annotations

import difflib
import errno
import importlib
import os
import signal
import sys
from typing import Any, Callable

from understudy.endings import BAD_INPUT, BUG, PIPE_CLOSED, USAGE

from .options import DATABASE, FORMAT, Command, Finished, Option, number, one_of, quiet, say, words
from .problems import CANNOT_WRITE, Problem, usage
from .programs import asked_of_judge, end_all

STORE = Option("--store DIR", "The store's folder (default: the remembered one)", "")
BEFORE = """Benchmarks of many training jobs: rebuilt when traces change, replayed and compared every
night, and a few of them that represent all.
Usage: understudy fleet COMMAND DATABASE [ARGUMENTS]

Commands:
"""
AFTER = """
Options:
  -h,--help   Print this help message and exit; of a command: understudy fleet COMMAND --help
  --version   Display program version information and exit

EXAMPLES
  understudy fleet init fleet.db --store store/          a fleet in a file, benchmarks in a folder
  understudy fleet add fleet.db traces/ads --weight 0.12 --tag team=ads
  understudy fleet nightly fleet.db --jobs 2             safe to kill, to rerun, to start twice
  understudy fleet history fleet.db ads                  one job's results, night by night
  understudy fleet report fleet.db -o site/              pages for a browser: site/index.html
  understudy fleet select fleet.db --budget 20 --max-error 0.03 -o subset.yaml

EXIT STATUS
  that of the command; 2 for an unknown command
"""


WORKER_OPTIONS = (
    DATABASE,
    Option("--store DIR", "Folder for benchmarks and reports (default: the remembered one)", ""),
    Option("--platform NAME", "Name of this kind of node, to file results under (default: its processor and cores)", ""),
    quiet("no text on standard output"),
    Option("--jobs N", "Benchmarks generated at a time (default: this node's cores)", None, number(int, 1, 4096)),
    Option("--regenerate", "Rebuild all benchmarks, even if their traces' sizes and times have not changed", False),
    Option("--drift-above D", "Distance at which a job has drifted, 0 to 1", 0.1, number(float, 0, 1)))
REPLAY_OPTIONS = (
    Option("--replay-flags TEXT", "More flags for replay", [], words),
    Option("--launcher TEXT", "Command that starts several ranks", ["mpirun", "-np", "{ranks}"], words, shows="mpirun -np {ranks}"),
    Option("--oversubscribe", "Also replay benchmarks of more ranks than this node has cores", False),
    Option("--iterations N", "Iterations of each replay, at most (default: replay's)", None, number(int, 1, 1_000_000)),
    Option("--seconds S", "Seconds of iterations of each replay, at most (default: replay's)", None, number(float, 0.001, 1e6)),
    Option("--timeout S", "Seconds of one replay, at most", 1800.0, number(float, 1, 1e6)),
    Option("--slower-by PERCENT", "Report no slowdown below this, however certain", 3.0, number(float, 0, 1000)))
NO_LEASE = (("--lease", "a worker holds a lock while it lives (docs/fleet.md): nothing has to be waited for"),)


COMMANDS = {command.name: command for command in (
    Command("add", "Adds jobs: traces, a folder of jobs, or a manifest",
            "Adds training jobs by their traces. A job that exists is updated; what is not given stays as it was.", (
                DATABASE, Option("PATH", "Traces of a job, a folder of jobs, or a manifest", required=True),
                Option("--name NAME", "Name of the job (default: of its folder or file)", ""),
                Option("--weight W", "Its share of the fleet, in any unit", 1.0, number(float, 0, 1e15)),
                Option("--tag TAG", "NAME=VALUE; can be repeated", many=True),
                Option("--flags TEXT", "Flags for generate, separated by blanks", [], words),
                Option("--each", "PATH is a folder in which every trace is a job", False), quiet("no text on standard output")),
            """  understudy fleet add fleet.db traces/ads-ranker --weight 0.12 --tag team=ads
                                                         one job: traces of all ranks
  understudy fleet add fleet.db traces/                  a folder of jobs: a folder each
  understudy fleet add fleet.db captures/ --each         every trace and folder in it is a job
  understudy fleet add fleet.db jobs.yaml                a manifest: names, weights, tags, flags""",
            failure="nothing was added"),
    Command("drift", "Shows jobs whose work has drifted, and in what",
            "Compares each job's newest benchmark with its first one: how far its work has drifted, from 0 (the same) to 1 (nothing in "
            "common), and in what.", (
                DATABASE, Option("--above D", "Distance at which a job has drifted, 0 to 1", 0.1, number(float, 0, 1)), FORMAT,
                Option("--all", "Also show jobs that did not drift", False), quiet("no text, only the exit status")),
            """  understudy fleet drift fleet.db                 jobs that drifted, the farthest first
  understudy fleet drift fleet.db --all           the others, too""",
            "no job drifted beyond --above", "some did"),
    Command("gc", "Deletes what nothing refers to; copies the database",
            "Deletes what nothing refers to: benchmarks that are no job's current or first one and have no result, and files that killed "
            "workers left. Results and their figures are never deleted.", (
                DATABASE, STORE,
                Option("--keep-nights N", "Delete reports of nights before the last N", 0, number(int, 1, 1_000_000)),
                Option("--backup FILE", "Copy the database to this file first", ""),
                Option("--dry-run", "Only say what would be deleted", False), quiet("no text on standard output")),
            """  understudy fleet gc fleet.db --dry-run
  understudy fleet gc fleet.db --keep-nights 90         deletes older nights' reports; their
                                                        figures stay
  understudy fleet gc fleet.db --backup fleet.copy.db   a copy first, while others write""",
            failure="something could not be deleted"),
    Command("history", "Shows nights, or a job's results",
            "Shows the last nights; or one job's results, night by night and platform by platform, with what happened to it.", (
                DATABASE, Option("JOB", "A job's name", ""), Option("--platform NAME", "Only this platform", ""), FORMAT,
                Option("--last N", "Number of nights or results", 30, number(int, 1, 1_000_000))),
            """  understudy fleet history fleet.db                        the last nights
  understudy fleet history fleet.db ads-ranker             one job
  understudy fleet history fleet.db ads-ranker --platform a100 --last 90 --format csv"""),
    Command("import", "Imports predictions, and reports of runs elsewhere",
            "Imports results of jobs' benchmarks from elsewhere: predictions (`understudy predict --report`), which fill in, marked as "
            "predicted, until the platform is measured; and reports of `replay` or of an emitted project, as results of no night.", (
                DATABASE, Option("FILE", "Predictions or reports", required=True, many=True),
                Option("--platform NAME", "The platform that they are for", required=True),
                Option("--job JOB", "The job whose benchmark it was, if the file has no benchmark_hash", ""), quiet("no text on standard output")),
            "  understudy fleet import fleet.db ads.json --platform h200 --job ads-ranker", failure="nothing was imported"),
    Command("init", "Makes a fleet's database", "Creates a fleet's database. A database that exists keeps its content.", (
                DATABASE, Option("--store DIR", "Folder for benchmarks and reports; remembered, and replaces an earlier one", ""),
                quiet("no text on standard output")),
            """  understudy fleet init fleet.db --store store/
  understudy fleet init postgresql://fleet@db.example/fleet --store /shared/store""",
            failure="the database could not be created"),
    Command("jobs", "Lists the jobs and their state", "Lists the jobs: weight, tags, benchmark, and what is broken or fails to replay.",
            (DATABASE, FORMAT), "  understudy fleet jobs fleet.db"),
    Command("nightly", "Rebuilds what changed, replays, compares, sums up",
            "One night of a fleet: finds changed traces, rebuilds their benchmarks, replays every benchmark alone on this node, compares with "
            "earlier nights and sums up. If it is killed, the next call continues; two calls at once share one night.", (
                *WORKER_OPTIONS, Option("--generate-only", "Make benchmarks, replay none", False),
                Option("--engine ENGINE", "Where the work is done: local or slurm", "local", one_of("local", "slurm")),
                Option("--slurm-flags TEXT", "More flags for sbatch", [], words),
                Option("--replay-nodes N", "Number of Slurm nodes that replay", 1, number(int, 1, 100_000)), *REPLAY_OPTIONS,
                Option("--otava PYTHON", "Python with apache-otava, for change points", ""),
                Option("--fail-on WHAT", "unsure: status 3 where a replay could not be judged", "", one_of("unsure")),
                Option("-o,--output FILE", "Write the summary to this file", ""), FORMAT),
            """  understudy fleet nightly fleet.db --store store/ --jobs 2
                                                                 make, replay, compare, sum up
  understudy fleet nightly fleet.db --generate-only              no replays
  understudy fleet nightly fleet.db --replay-flags '--threads 1' --platform one-thread
                                                                 a platform that you name
  understudy fleet nightly fleet.db --engine slurm --jobs 40 --slurm-flags '--partition=night'
                                                                 the same by arrays of Slurm jobs
  understudy fleet nightly fleet.db --format json -o night.json  the summary for a program
A cron line and a systemd timer are in docs/fleet.md.""",
            "nothing broke, nothing got slower",
            "something broke or got slower, or the night could not be finished\n  3   a replay could not be judged, with --fail-on unsure", NO_LEASE),
    Command("platforms", "Compares platforms",
            "Compares platforms with a baseline, by the newest results of each job's benchmark: ratios of times, weighted and by benchmark, "
            "with 95 % intervals; the ranking and how certain it is; the classes of operators that drive a ratio. Only results of the same "
            "benchmark, by its hash, are compared.",
            (DATABASE, Option("--baseline NAME", "The platform that is 1 (default: the one with the most benchmarks)", ""), FORMAT),
            "  understudy fleet platforms fleet.db --baseline a100"),
    Command("remove", "Removes a job; its results stay",
            "Removes jobs. Results of their benchmarks, and the benchmarks that have results, stay in the database and the store; `understudy "
            "fleet gc` frees what has none.",
            (DATABASE, Option("JOB", "Names of jobs", required=True, many=True), quiet("no text on standard output")),
            "  understudy fleet remove fleet.db ads-ranker"),
    Command("report", "Writes the fleet as a site of static pages",
            "Writes the fleet as a site of static pages: the fleet, a page for each job with its history on each platform, the platforms, the "
            "last nights, the newest replays. Each page is one file and needs no network; existing pages are replaced.", (
                DATABASE, Option("-o,--output FOLDER", "The site's folder; created if it is missing. Of Markdown, a file", ""),
                Option("--format FORMAT", "site; or markdown: what the newest night tells, for a pull request", "site", one_of("site", "markdown")),
                Option("--baseline NAME", "The platform whose ratio is 1 (default: the one with the most benchmarks)", ""),
                Option("--nights N", "Number of last nights that get a page", 30, number(int, 1, 100_000)),
                Option("--last N", "Number of newest results of each series", 90, number(int, 1, 1_000_000)),
                quiet("where the site is, is not said")),
            """  understudy fleet report fleet.db -o site/                      then open site/index.html
  understudy fleet report fleet.db -o site/ --baseline a100 --nights 7
  understudy fleet report fleet.db --format markdown             the newest night, in a few lines"""),
    Command("select", "Selects a few jobs that represent all",
            "Selects a few jobs that represent all, with weights, and says how far to trust them: their mix of time by class against the "
            "fleet's, and their ratios on platforms that were not used to choose, beside those of random subsets.", (
                DATABASE, Option("--budget N|Nm", "Number of jobs (20), or minutes of replays (30m)", required=True),
                Option("--max-error E", "Take no more jobs once the error is below this share (0.03)", 0.0, number(float, 0, 1)),
                Option("--platform PLATFORM", "Weigh classes by times measured on the first (default: recorded times), and choose by the ratios of "
                       "the others to it; platforms that are not named test the choice", many=True, greedy=True),
                Option("--seed N", "Seed of random subsets and intervals", 1, number(int, 0, (1 << 64) - 1)),
                Option("-o,--output FILE", "Write the subset to this file (YAML)", ""), FORMAT, quiet("no text on standard output")),
            """  understudy fleet select fleet.db --budget 20 -o subset.yaml
  understudy fleet select fleet.db --budget 30m --max-error 0.03 -o subset.yaml
                                       at most 30 minutes of replays; fewer jobs if they suffice
  understudy fleet select fleet.db --budget 10 --platform a100 h100""",
            "the subset is within --max-error, or none was asked for", "it is not, within the budget"),
    Command("verify", "Checks the hash of everything stored",
            "Reads all objects of the store and checks them against their hashes, and benchmarks against the database.",
            (DATABASE, STORE, FORMAT, quiet("the result is printed")), "  understudy fleet verify fleet.db",
            "nothing is damaged or missing", "something is damaged or missing; each is named"),
    Command("worker", "Works on the open night, from this machine",
            "Works on the open night until nothing is left for this platform. Any number of workers, on any machines, can share one night.", (
                *WORKER_OPTIONS, Option("--only KIND", "Only make benchmarks, or only replay them", "", one_of("generate", "replay")),
                *REPLAY_OPTIONS),
            """  understudy fleet worker postgresql://db.example/fleet --store /shared/store
                                                  help the open night from another machine
  understudy fleet worker fleet.db --replay-flags '--threads 1'
                                                  as `understudy fleet nightly` was called
  understudy fleet worker fleet.db --only replay  only replay, on a node reserved for timing
  mpirun -np 4 understudy fleet worker fleet.db   four workers""",
            "nothing is left to do, or no night is open", "this worker failed; others take over its work", NO_LEASE))}


def version(command: str = "") -> str:
    return f"understudy fleet{command} {asked_of_judge('node', {})['version']}\n"


def run(given: list[str]) -> int:
    listing = BEFORE + "".join(f"  {command.name:<10}  {command.summary}\n" for command in COMMANDS.values()) + AFTER
    if not given:
        sys.stderr.write(listing)
        return USAGE
    if given[0] == "help" and given[1:]:
        given = [given[1], "--help"]
    if given[0] in ("-h", "--help", "--help-all", "help", "--version"):
        say(version() if given[0] == "--version" else listing)
        return 0
    command = COMMANDS.get(given[0])
    if command is None:
        near = difflib.get_close_matches(given[0], COMMANDS, 1)
        raise usage(f"unknown command {given[0]}", expected=", ".join(COMMANDS), got=given[0],
                    hint=f"did you mean {near[0]}?" if near else "understudy fleet --help says what each does")
    try:
        values = command.parse(given[1:])
    except Finished as asked:
        say(version(f" {command.name}") if str(asked) == "--version" else command.help())
        return 0
    try:
        return int(getattr(importlib.import_module("understudy_fleet.actions"), f"run_{command.name}")(values))
    except ImportError as missing:
        raise usage("a part of the fleet is not installed", expected=f"{missing.name or 'its packages'} in {sys.executable}", got=str(missing),
                    hint="pip install 'understudy[fleet]'; in a clone: scripts/setup") from missing


def say_why(problem: Problem, as_json: bool) -> int:
    print(problem.json() if as_json else f"fleet: {problem.text()}", file=sys.stderr)
    return problem.status


def ended(body: Callable[[], int], as_json: bool) -> int:
    """Returns the status that a command ends with; a failure is told on standard error."""
    try:
        return body()
    except Problem as problem:
        return say_why(problem, as_json)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the rest cannot be written
        return PIPE_CLOSED
    except OSError as failure:
        is_output = failure.filename is None and failure.errno in (errno.ENOSPC, errno.EIO)
        told = (Problem("the output cannot be written", CANNOT_WRITE, got=failure.strerror, hint="see that its place has room") if is_output else
                Problem("a file cannot be used", BAD_INPUT, file=failure.filename, got=failure.strerror))
        return say_why(told, as_json)
    except Exception as failure:
        if os.environ.get("UNDERSTUDY_DEBUG") == "1":
            raise
        print(f"fleet: a bug of ours: {type(failure).__name__}: {failure}; please report it, with what UNDERSTUDY_DEBUG=1 shows", file=sys.stderr)
        return BUG


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    given = sys.argv[1:]
    as_json = os.environ.get("UNDERSTUDY_ERRORS") == "json" or "--format=json" in given or ("--format", "json") in zip(given, given[1:])
    sys.exit(ended(lambda: run(given), as_json))


def _stop(number: int, _: Any) -> None:
    """Ends the programs of steps and this process at once: what they left is gone on with by the next call."""
    end_all()
    os._exit(128 + number)
