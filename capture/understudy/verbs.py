"""The verbs as functions: import understudy as us; us.replay(us.generate("traces/"), until="1%").to_pandas("operators").

Keyword arguments are the verb's flags with underscores, `what_if=["matmul x0.5", "network x2"]` for `--what-if`. Beside the usual
ones, which each function names, it takes all that `understudy VERB --help-all` prints. A verb that fails raises understudy.Error.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Iterable, Mapping, Sequence, TypeVar, Union

from .programs import run
from .results import Benchmark, Comparison, Inspection, Prediction, Report, Result, Suite, parse, read

File = Union[str, "os.PathLike[str]"]
Files = Union[File, Sequence[File]]
Input = Union[File, Result]  # a file, or a result of a verb that wrote one
Inputs = Union[Input, Sequence[Input]]
Kind = TypeVar("Kind", bound=Result)


def generate(traces: Files, *, output: File | None = None, profile: Files | None = None, step: str | int | None = None,
             only: str | None = None, subgraph: str | Sequence[str] | None = None, exclude: str | None = None,
             batch: str | None = None, world_size: int | None = None, obfuscate: bool = False, **flags: Any) -> Benchmark:
    """Compiles execution traces of one training step, of all ranks, into a benchmark.

    traces: files, archives or folders of traces; a bench.et to change one
    output: the benchmark to write (default: one in a temporary folder, for as long as this process runs)
    profile: Kineto profiles that give the recorded times, one a rank (default: those of the capture)
    step: K of ProfilerStep#K, or "all" (default: the first complete step)
    only: "compute" or "comms"
    subgraph: only what runs below nodes whose name contains this, and its backward pass
    exclude: leave out operators whose name matches this regular expression
    batch: "FROM:TO", such as "64:256": another batch size than the recorded one, without recorded times
    world_size: the job on so many ranks
    obfuscate: replace names, texts and exact numbers that do not decide the time
    """
    options = _options(locals(), "traces")
    if not {"emit", "chakra"} & set(flags):
        options["output"] = output or _scratch("bench.et")
    return _result(Benchmark, "generate", [*_paths(traces), *_flags(options)], options.get("output"))


def replay(bench: Input, *, ranks: int | None = None, rank: int | None = None, only: str | None = None, device: str | None = None,
           op_library: Files | None = None, iterations: int | None = None, until: str | None = None, seconds: float | None = None,
           threads: int | None = None, report: File | None = None, trace: File | None = None, min_coverage: float | None = None,
           **flags: Any) -> Report:
    """Runs a benchmark, and measures how long an iteration takes and how much of the original ran.

    bench: a benchmark, or traces
    ranks: processes to start on this machine, under torchrun (default: as many as a Benchmark has ranks, else one)
    rank: this rank of the benchmark alone
    only: "compute" or "comms"
    device: "cpu", "cuda" or "cuda:N" (default: "cpu")
    op_library: custom operators: libraries, or folders of them
    iterations: measured iterations at most (default: 20)
    until: "1%" measures until the 95 % interval of the median is within ± 1 %
    seconds: seconds of measured iterations, at most
    threads: threads of an operator
    report: the report to write, as JSON (default: one in a temporary folder)
    trace: write Kineto's profile of a step to this file
    min_coverage: raise Error if less than this share of the operators is replayed; its `result` is the report
    """
    options = _options(locals(), "bench", "ranks")
    path = options["report"] = report or _scratch("report.json")
    if ranks is None:
        ranks = int(bench["world_size"]) if isinstance(bench, Benchmark) and rank is None else 1
    return _result(Report, "replay", [*_paths(bench), *_flags(options)], path, ranks)


def compare(a: Inputs, b: Inputs, *, margin: float | None = None, different_benchmarks: bool = False, **flags: Any) -> Comparison:
    """Says what got slower or faster from A to B, and how certain that is. Being slower raises nothing.

    a, b: runs of each: Reports, Predictions, or files of them and Kineto profiles; several find smaller changes. Or steps that did not run
    margin: rows are the SAME if they are shown to differ by less than so many percent (default: 2)
    different_benchmarks: also compare runs of different benchmarks, ranks or filters
    """
    options = _options(locals(), "a", "b")
    return _result(Comparison, "compare", _flags({"a": _paths(a), "b": _paths(b), **options}))


def predict(bench: Inputs | None = None, *, card: str | None = None, platform: File | None = None,
            from_profile: File | None = None, operators: File | None = None, what_if: str | Sequence[str] | None = None, batch: str | None = None, world_size: int | None = None,
            report: File | None = None, **flags: Any) -> Prediction:
    """Predicts how long an iteration takes, without running it.

    bench: a benchmark, or traces; without one, and nothing else to predict, the result is the card's data sheet
    card: a GPU whose data sheet is known, such as "H100", or a specification file
    platform: costs are those of the models that calibrate fitted (without it and card: the recorded times)
    from_profile: a Kineto profile's step in place of a benchmark
    operators: a table of single operators, or of collectives, in place of a step (docs/formats.md)
    what_if: "matmul x0.5", "network x2", "rank 3 x1.2"
    batch: "FROM:TO", such as "64:256": another batch size than the recorded one
    world_size: the job on so many ranks
    report: the prediction to write, as JSON (default: one in a temporary folder)
    """
    options = _options(locals(), "bench")
    if operators:
        return _result(Prediction, "predict", _flags(options), form=None)
    if bench is None and not from_profile:
        return _result(Prediction, "predict", _flags(options), form="json")
    path = options["report"] = report or _scratch("prediction.json")
    return _result(Prediction, "predict", [*(() if bench is None else _paths(bench)), *_flags(options)], path)


def inspect(what: Inputs, *, profile: Files | None = None, by: str | None = None, collectives: bool = False,
            certificate: bool = False, tree: bool = False, memory: bool = False, match: bool = False, stragglers: bool = False,
            device_time: bool = False, **flags: Any) -> Inspection:
    """Shows what is in traces, profiles, a benchmark or a report.

    what: traces, archives or folders; one bench.et; one report of replay
    profile: with by or stragglers, of traces: Kineto profiles that give the times
    by: operators: calls, recorded times, shares of the whole; a row for each "name", "class", "module", "phase" or "shape"
    collectives: each communication call
    certificate: hashes of a benchmark and of its sources
    tree: every node of traces
    memory: live tensors over the step
    match: all ranks' communication matched against each other
    stragglers: which rank is slow and in what
    device_time: all device time of profiles, by class, launch and kernel
    """
    options = _options(locals(), "what")
    return _result(Inspection, "inspect", [*_paths(what), *_flags(options)])


def suite(folder: File | None = None, *, device: str | None = None, seconds: float | None = None, rounds: int | None = None,
          save: str | None = None, **flags: Any) -> Suite:
    """Replays a gallery of public models' steps, and compares this machine with the platforms that ran them.

    folder: a folder of steps, each with a bench.et and references (default: the package's gallery)
    device: "cpu", "cuda" or "cuda:N" (default: "cpu")
    seconds: for all replays together, at most (default: 300)
    rounds: replays of each step, as far as the time allows (default: 3)
    save: write this machine's reports beside the steps, as references of this platform
    """
    options = _options(locals(), "folder")
    return _result(Suite, "suite", [*(() if folder is None else _paths(folder)), *_flags(options)])


def load(path: File) -> Result:
    """Returns what a file holds: a report or a prediction (.json), a page of any verb (.html), or a benchmark (bench.et)."""
    name = Path(path)
    if name.suffix in (".json", ".html"):
        return read(name)
    return _result(Benchmark, "inspect", _paths(name), name)


def _result(kind: type[Kind], verb: str, words: Sequence[str], path: Any = None, ranks: int = 1,
            form: str | None = "html") -> Kind:
    """Runs a verb once. Its page holds the result as JSON; a report's file holds more of it, and is what other verbs take."""
    printed, error = run(verb, [*words, *(() if form is None else ("--format", form))], ranks)
    result: Kind | None = None
    if printed:
        text, page = parse(printed)
        is_in_file = path and kind is not Benchmark
        result = kind(Path(path).read_text(encoding="utf-8") if is_in_file else text, page, Path(path) if path else None)
    if error:
        error.result = result
        raise error
    assert result is not None
    return result


def _options(arguments: Mapping[str, Any], *inputs: str) -> dict[str, Any]:
    """Returns the flags among a function's arguments."""
    return {**{name: value for name, value in arguments.items() if name not in ("flags", *inputs)}, **arguments["flags"]}


def _flags(options: Mapping[str, Any]) -> list[str]:
    words = []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(flag)
        elif value is not None and value is not False:
            words += [f"{flag}={each}" for each in _several(value)]
    return words


def _several(value: Any) -> Iterable[Any]:
    return [value] if isinstance(value, (str, os.PathLike, Result)) or not isinstance(value, Iterable) else value


def _paths(inputs: Inputs) -> list[str]:
    paths = []
    for each in _several(inputs):
        path = each.path if isinstance(each, Result) else each
        if path is None:
            raise TypeError(f"expected a file, or a Benchmark, Report or Prediction, which have one; got {each!r}")
        name = os.fspath(path)
        paths.append(f"./{name}" if name.startswith("-") else name)  # else it would be a flag
    return paths


def _scratch(name: str) -> Path:
    """Returns the path for a new file in a folder that is removed when this process ends."""
    folder = tempfile.mkdtemp(prefix="understudy-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder, name)
