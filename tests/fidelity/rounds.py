"""The rounds of a fidelity run: original, paced replay, fastest replay, on the same cores."""

import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from understudy.programs import CLONE, START, command, python
from understudy.programs import environment as environment_of_programs

from . import limits
from .paired import paired_ratio

SAMPLES = CLONE / "fleet_samples"
TICK_S = 1 / os.sysconf("SC_CLK_TCK")

WARMUP = 3
MOST_FOREIGN = 0.10  # share of one core that others used during a round: more than this disturbs it
MOST_TRIES = 3  # tries of a disturbed round


def say(text):
    print(f"fidelity: {text}", file=sys.stderr, flush=True)


class Progress:
    """Reports which round of which sample runs, and the remaining time."""

    def __init__(self, samples, rounds, clock=time.monotonic):
        self._clock, self._began = clock, clock()
        self._names, self._rounds, self._begun = [], rounds, 0
        self._samples = samples

    def begin_round(self, name, number):
        if number == 0:
            self._names.append(name)
            self._begun = (len(self._names) - 1) * self._rounds  # counts the rest of a failed sample's rounds as done
        say(f"{name} ({len(self._names)} of {self._samples}), round {number + 1} of {self._rounds}"
            + self._left())
        self._begun += 1

    def _left(self):
        """Returns the remaining time, from the mean round so far."""
        if self._begun == 0:
            return ""
        rest = self._samples * self._rounds - self._begun
        left_s = (self._clock() - self._began) / self._begun * rest
        return f", about {left_s / 60:.0f} min left" if left_s >= 90 else f", about {left_s:.0f} s left"


class BadCapture(Exception):
    """Raised for a folder without a complete capture, or whose program is unknown."""


class Failed(Exception):
    """Raised if a program of a round fails: the command, and its message."""


@dataclass
class Sample:
    """A captured program: its trace, and how the program is started."""
    name: str
    folder: Path
    ranks: int
    script: list  # the training script and its arguments
    comms: str

    @staticmethod
    def of(folder, program):
        try:
            summary = json.loads((folder / "capture.json").read_text())
            ranks = summary["world_size"]
        except (OSError, ValueError, KeyError) as problem:
            raise BadCapture(f"{folder / 'capture.json'}: {problem}") from problem
        comms = "gloo"
        manifest = folder / "manifest.json"
        if not program and manifest.is_file():
            words = shlex.split(json.loads(manifest.read_text())["how_to_capture"])
            script = next(i for i, word in enumerate(words) if word.endswith(".py"))
            program = [str(CLONE / words[script]), *words[script + 1:]]
            if "--comms" in words:
                comms = words[words.index("--comms") + 1]
        if not program:
            raise BadCapture(f"{folder}: its program is not known; name it after --, as in "
                             f"`scripts/fidelity {folder} -- train.py`")
        return Sample(folder.resolve().name, folder, ranks, program, comms)


class Disturbance:
    """The CPU time of other processes while a program of a round ran."""

    @staticmethod
    def _busy_s():
        fields = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
        user, nice, system, _idle, _iowait, irq, softirq, steal = fields[:8]
        return (user + nice + system + irq + softirq + steal) * TICK_S

    @staticmethod
    def _own_s():
        times = os.times()
        return times.user + times.system + times.children_user + times.children_system

    def __enter__(self):
        self._busy, self._own, self._began = self._busy_s(), self._own_s(), time.monotonic()
        return self

    def __exit__(self, *_):
        elapsed = max(time.monotonic() - self._began, TICK_S)
        foreign = (self._busy_s() - self._busy) - (self._own_s() - self._own)
        self.share = max(0.0, foreign / elapsed)


def environment(threads):
    return {**environment_of_programs(), "OMP_NUM_THREADS": str(threads), "PYTHONDONTWRITEBYTECODE": "1",
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}


def run(words, threads, ranks):
    cores = sorted(os.sched_getaffinity(0))[:threads * ranks]
    done = subprocess.run([str(word) for word in words], env=environment(threads),
                          preexec_fn=lambda: os.sched_setaffinity(0, cores),
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Failed(f"{shlex.join(str(word) for word in words)}\n"
                     f"ended with status {done.returncode}\n{done.stderr.rstrip()}")


def run_original(sample, folder, threads, steps, profiled, extra=()):
    """Times the training program's steps; writes capture.json and profiles to `folder`."""
    launcher = python("torch.distributed.run", "--no-python", "--nproc-per-node", str(sample.ranks)) if sample.ranks > 1 else []
    needed = WARMUP + steps + profiled + 10  # more than the capture's other steps
    script = list(sample.script)
    if sample.folder.resolve().parent == SAMPLES and "--steps" not in script:
        script += ["--steps", needed]
    # The user's script has the user's path: its Python is not isolated.
    run([*launcher, sys.executable, START, "command", "-o", folder, "--no-trace", "--warmup", WARMUP,
         "--timed", steps, "--profiled", profiled, "--threads", threads, "--comms", sample.comms,
         "--steady", 0, "--stop", "--speed-probe", *extra, *script], threads, sample.ranks)
    return json.loads((folder / "capture.json").read_text())["ranks"]


def link(sample, folder):
    """Makes the sample's benchmark with the times of the profile in `folder`."""
    description = folder / "capture.json"
    capture = json.loads(description.read_text())
    traced = json.loads((sample.folder / "capture.json").read_text())["ranks"]
    for rank, of_trace in zip(capture["ranks"], traced):
        rank["untouched_tensor_bytes"] = of_trace.get("untouched_tensor_bytes")
        for kind in ("et", "indices", "kineto"):
            path = sample.folder / f"rank-{rank['rank']}.{kind}.json.gz"
            if path.exists():
                shutil.copy(path, folder)
                rank["files"].append(path.name)
    description.write_text(json.dumps(capture))
    bench = folder / "bench.et"
    run([*command("generate"), folder, "-o", bench], 1, 1)
    return bench


def run_replay(sample, bench, report, pace, threads, steps, extra=()):
    launcher = ["mpirun", "-np", sample.ranks] if sample.ranks > 1 else []
    run([*launcher, *command("replay"), bench, "--pace", pace, "--threads", threads, "--warmup",
         WARMUP, "--iterations", steps, "--passes", steps, "--report", report, *extra], threads, sample.ranks)
    return json.loads(report.read_text())


def median_slowest(ranks, key):
    """Returns the median over the steps of the slowest rank's figure; None without figures, as on a GPU."""
    steps = [max(times) for times in zip(*(rank[key] for rank in ranks))]
    return statistics.median(steps) if steps else None


def sum_of_medians(ranks, key):
    return sum(statistics.median(rank[key]) for rank in ranks)


def by_class(report):
    """Returns class → (original ms, replay ms)."""
    classes = {}
    for row in report["operators"]:
        original, replay = classes.get(row["class"], (0.0, 0.0))
        classes[row["class"]] = (original + (row["recorded_ms"] or 0.0), replay + row["ms"])
    return classes


def original_figures(ranks, steps):
    """Returns a round's figures of the original; `counters` by the pace of the replay that they are compared with."""
    return {"step_ms": median_slowest(ranks, "step_ns") / 1e6,
            "profiled_step_ms": max(rank["kineto_only_step_ns"] for rank in ranks) / 1e6,
            "speed_probe_ms": median_slowest(ranks, "step_speed_probe_ms"),
            "profiled_speed_probe_ms": median_slowest(ranks, "step_speed_probe_ms"),  # generate takes all times to those steps
            "counters": {"recorded": {"cpu_ms": sum(rank["cpu_ns_in_timed_steps"] for rank in ranks) / steps / 1e6,
                                      "minor_faults": sum_of_medians(ranks, "step_minor_faults")},
                         "asap": {"minor_faults": sum_of_medians(ranks, "step_minor_faults")}},
            "rss_growth_bytes": max(rank["peak_rss_bytes"] - (rank["rss_at_start_bytes"] or 0)
                                    for rank in ranks)}


def replay_figures(report):
    classes = by_class(report)
    return {"iteration_ms": report["iteration_ms"]["median"],
            "operators_ms": sum(replay for _, replay in classes.values()),
            "recorded_operators_ms": sum(original for original, _ in classes.values()),
            "recorded_step_ms": report["original"]["step_ms"],
            "speed_probe_ms": median_slowest([report], "iteration_speed_probe_samples_ms"),
            "profiled_speed_probe_ms": median_slowest([report], "speed_probe_samples_ms"),
            "classes": {name: {"original_ms": original, "replay_ms": replay}
                        for name, (original, replay) in classes.items()},
            "pace": report["pace"], "counters": report["counters"], "values": report["values"],
            "output_mismatches": report["output_mismatches"],
            "coverage": {"count": report["coverage"]["count"], "time": report["coverage"]["time"],
                         "opened_time": sum(row["share"] for row in report["coverage"]["other_time"]
                                            if row["name"] in ("opened operators", "between operators"))},
            "losses": report["losses"], "memory": report["memory"]}


def one_round(sample, folder, arguments):
    folder.mkdir(parents=True, exist_ok=True)
    figures = {}
    with Disturbance() as disturbance:
        ranks = run_original(sample, folder, arguments.threads, arguments.steps,
                             arguments.profiled, ("--counters",) if arguments.counters else ())
        figures["original"] = original_figures(ranks, arguments.steps)
        bench = link(sample, folder)
        for pace in ("recorded", "asap"):
            report = run_replay(sample, bench, folder / f"{pace}.json", pace, arguments.threads,
                                arguments.steps, ("--counters", arguments.counters) if arguments.counters else ())
            figures[pace] = replay_figures(report)
            counters = figures["original"]["counters"]
            counters[pace] = {**report["original"].get("counters", {}), **counters[pace]}
    figures["foreign_share"] = disturbance.share
    return figures


def quiet_round(sample, folder, arguments, number):
    """Runs a round until it is undisturbed; after MOST_TRIES returns the least disturbed one."""
    tries = []
    for attempt in range(MOST_TRIES):
        tries.append(one_round(sample, folder / f"round-{number}", arguments))
        if tries[-1]["foreign_share"] <= MOST_FOREIGN:
            break
        say(f"{sample.name}: round {number + 1} disturbed (others took "
            f"{tries[-1]['foreign_share']:.0%} of a core)")
    best = min(tries, key=lambda figures: figures["foreign_share"])
    best["tries"] = len(tries)
    # The times of other tries are unusable; their replays' health still counts.
    best["other_tries"] = [{pace: {key: figures[pace][key] for key in limits.HEALTH} for pace in limits.PACES}
                           for figures in tries if figures is not best]
    best["disturbed"] = best["foreign_share"] > MOST_FOREIGN
    return best


def median_of(figures, *keys):
    values = []
    for item in figures:
        for key in keys:
            item = item[key]
        values.append(item)
    return None if any(value is None for value in values) else statistics.median(values)


def memory_of_original(sample, folder, threads):
    """Returns the peak of live tensor bytes, counted by the replay's own allocator."""
    ranks = run_original(sample, folder / "memory", threads, 3, 0, ("--count-allocations",))
    return max(rank["peak_tensor_bytes"] for rank in ranks)


class Interrupted(Exception):
    """Raised by Ctrl-C during a sample; `result` holds its complete rounds, None if there are none."""

    def __init__(self, result):
        super().__init__()
        self.result = result


def run_sample(sample, folder, arguments, progress):
    shutil.rmtree(folder, ignore_errors=True)
    figures, peak = [], None
    try:
        for number in range(arguments.rounds):
            progress.begin_round(sample.name, number)
            figures.append(quiet_round(sample, folder, arguments, number))
        peak = memory_of_original(sample, folder, arguments.threads)
    except KeyboardInterrupt:
        raise Interrupted(result_of(sample, arguments, figures, peak) if figures else None) \
            from None
    return result_of(sample, arguments, figures, peak)


def result_of(sample, arguments, figures, peak):
    replayed = median_of(figures, "asap", "memory", "peak_bytes")
    return {"name": sample.name, "ranks": sample.ranks, "threads": arguments.threads,
            "operators": compare(figures, ("asap", "recorded_operators_ms"),
                                 ("asap", "operators_ms"), "profiled_speed_probe_ms"),
            "recorded": compare(figures, ("original", "step_ms"), ("recorded", "iteration_ms"),
                                "speed_probe_ms"),
            "asap": compare(figures, ("original", "step_ms"), ("asap", "iteration_ms"),
                            "speed_probe_ms"),
            "classes": compare_classes(figures),
            "peak_tensor_bytes": peak and {"original": peak, "replay": replayed},
            "incomplete": peak is None, "rounds_wanted": arguments.rounds, "rounds": figures}


def speed(figures, replay, speed_probe):
    """Returns how much faster the machine was during the replay than during the original; 1 if neither measured it."""
    of_original, of_replay = figures["original"][speed_probe], figures[replay][speed_probe]
    return of_original / of_replay if of_original and of_replay else 1


def compare(figures, original, replay, speed_probe):
    """Returns the rounds' ratios, replay ÷ original, of two figures: normalised by machine speed, and by the clock."""
    pairs = [(item[original[0]][original[1]], item[replay[0]][replay[1]]) for item in figures]
    alike = [(original_ms, replay_ms * speed(item, replay[0], speed_probe))
             for (original_ms, replay_ms), item in zip(pairs, figures)]
    original_ms, replay_ms = (statistics.median(side) for side in zip(*pairs))
    return {**paired_ratio(alike), "by_the_clock": paired_ratio(pairs),
            "plain_ratio": replay_ms / original_ms,
            "original_ms": original_ms, "replay_ms": replay_ms}


def compare_classes(figures):
    """Returns each class's medians over the rounds; the replay's are scaled to the machine's speed during the original."""
    rows = []
    for name in sorted({name for item in figures for name in item["asap"]["classes"]}):
        alike = [item["asap"]["classes"][name]["replay_ms"]
                 * speed(item, "asap", "profiled_speed_probe_ms") for item in figures]
        rows.append({"class": name, "replay_ms": statistics.median(alike),
                     "original_ms": median_of(figures, "asap", "classes", name, "original_ms")})
    return sorted(rows, key=lambda row: -row["original_ms"])
