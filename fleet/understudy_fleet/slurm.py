"""A night on Slurm: an array of workers that make benchmarks, then one of workers that replay, each alone on its node."""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

from .problems import Problem
from .programs import run_program
from .steps import Options


def logs_of(store: Path) -> Path:
    return store / "slurm"


def commands(url: str, store: Path, options: Options, nodes: int, flags: Sequence[str], program: Sequence[str]) -> list[list[str]]:
    """Returns the calls of sbatch. Each returns when its jobs have ended. A job that lost its node is put back (--requeue); its steps are taken
    by any worker."""
    found = [_array("fleet-generate", options.jobs, store, ["--ntasks=1", "--cpus-per-task=1", *flags], _worker(url, store, options, program, "generate"))]
    if not options.generate_only:
        found.append(_array("fleet-replay", nodes, store, ["--nodes=1", "--exclusive", *flags], _worker(url, store, options, program, "replay")))
    return found


def _array(name: str, workers: int, store: Path, flags: list[str], line: str) -> list[str]:
    return ["sbatch", "--wait", f"--job-name={name}", f"--array=1-{workers}", "--requeue", f"--output={logs_of(store)}/%x-%A_%a.txt", *flags,
            f"--wrap={line}"]


def _worker(url: str, store: Path, options: Options, program: Sequence[str], kind: str) -> str:
    words = [*program, "worker", url, "--store", str(store), "--only", kind, "--jobs", "1", "--quiet", "--launcher", " ".join(options.launcher)]
    words += ["--replay-flags", " ".join(options.flags)] if options.flags else []
    words += ["--iterations", str(options.iterations)] if options.iterations else []
    words += ["--seconds", f"{options.seconds:g}"] if options.seconds else []
    words += ["--timeout", f"{options.timeout_s:g}", "--slower-by", f"{options.least_change * 100:g}"]
    words += ["--drift-above", f"{options.drift_above:g}"]
    words += ["--regenerate"] if options.regenerates else []
    words += ["--platform", options.platform] if options.platform else []
    words += ["--oversubscribe"] if options.oversubscribes else []
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


def submit(calls: list[list[str]]) -> None:
    for words in calls:
        ended = run_program(words)
        if ended.status and "Submitted" not in ended.output:
            raise Problem("Slurm did not take a job", field=words[2], got=ended.errors.strip(),
                          hint="see sinfo, and --slurm-flags for what it asks for")
