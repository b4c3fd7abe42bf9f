"""Summary of a capture, printed at its end."""

import itertools
import shlex
import statistics

from .notices import STARVED, starved_share

FEW_STEPS = 10  # timed steps; the median of fewer says little
WIDE_SPREAD = 1.25  # p90 ÷ p10
HEAVY_PROFILER = 1.25  # profiled ÷ timed
KINDS = {"et": "execution trace", "kineto": "profile of the traced step", "kineto_only": "profile of {profiled} steps",
         "faults": "page faults by operator", "indices": "index values", "counters": "hardware counters of kernels"}


def summarize(folder, ranks, world_size):
    """Returns lines for people. `ranks` has each rank's `description` (capture.json), `bytes` and `notices`, of those that were there."""
    described = [rank["description"] for rank in ranks]
    present = {name.split(".")[1] for rank in ranks for name in rank["bytes"]}
    there = str(world_size) if len(ranks) == world_size else (
        f"rank {described[0]['rank']} of {world_size}, under torch's fake group: what communication takes is not known")
    rows = [("steps", _steps(described)), ("ranks", there), *_recorded(described[0], present)]
    rows += [("warning", text) for text in _warnings(described, ranks)]
    rows += zip(itertools.chain(["files"], itertools.repeat("")), _files(ranks))
    rows.append(("next", next_command(folder, world_size, len(ranks)) if "et" in present else
                 "nothing: without an execution trace no benchmark can be made"))
    return "\n".join([f"wrote {folder}", *(f"  {title:13} {text}" for title, text in rows if text)])


def next_command(folder, world_size, captured):
    rest = f" --world-size {world_size}" if captured < world_size else ""
    return f"understudy generate {shlex.quote(str(folder))}{rest} -o bench.et"


def slowest_ms(described, key):
    """Returns the slowest rank's time of each step, sorted."""
    return sorted(max(times) / 1e6 for times in zip(*(rank[key] for rank in described)))


def percentile(ordered, share):
    """Returns a quantile, interpolated linearly between the two nearest samples."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _steps(described):
    timed = slowest_ms(described, "step_ns")
    if not timed:
        return "none timed"
    slowest = ", the slowest rank of each" if len(described) > 1 else ""
    return (f"{len(timed)} timed: median {statistics.median(timed):.3f} ms, p10 "
            f"{percentile(timed, 0.1):.3f} ms, p90 {percentile(timed, 0.9):.3f} ms{slowest}{_free(described)}")


def _free(described):
    free = [rank["free_step_ns"] for rank in described]
    return "" if None in free else f"; {max(free) / 1e6:.3f} ms each where the device is not waited for"


def _recorded(described, present):
    """Returns the rows of what there is and of what is missing. Who does not ask for counters does not miss them."""
    profiled = str(len(described["kineto_only_steps_ns"]) or "other")
    texts = {kind: text.format(profiled=profiled) for kind, text in KINDS.items()}
    looked = described.get("untouched_tensor_bytes") is not None  # for indices: then the step has none
    missing = texts.keys() - present - {"counters", *["indices"] * looked}
    return [(title, ", ".join(text for kind, text in texts.items() if kind in kinds))
            for title, kinds in (("recorded", present), ("not recorded", missing))]


def _warnings(described, ranks):
    timed, profiled = (slowest_ms(described, key) for key in ("step_ns", "kineto_only_steps_ns"))
    spread = percentile(timed, 0.9) / percentile(timed, 0.1) if timed else 1
    longer = statistics.median(profiled) / statistics.median(timed) if timed and profiled else 1
    starved = max(starved_share(rank["step_ns"], rank["step_cpu_wait_ns"]) for rank in described)
    rows = (
        (len(timed) < FEW_STEPS, f"{len(timed)} timed steps are few to judge a replay by; see --timed"),
        (spread > WIDE_SPREAD, f"steps differ by {spread - 1:.0%} (p10 to p90): the machine was busy, or the steps are unlike"),
        (starved > STARVED, f"threads of the steps were ready and had no CPU for {starved:.0%} of the time: other programs run, or more threads "
         "than CPUs; times are longer than the step's own, however steady"),
        (longer > HEAVY_PROFILER, f"profiled steps take {longer - 1:.0%} longer than timed ones: recorded times are less sure"))
    prefixes = [f"rank {number}: " for number in range(len(ranks))] if len(ranks) > 1 else [""]
    return [text for is_so, text in rows if is_so] + [prefix + text for prefix, rank in zip(prefixes, ranks) for text in rank["notices"]]


def _files(ranks):
    sizes = sorted((name, size) for rank in ranks for name, size in rank["bytes"].items())
    rows = [f"{name:30} {size_text(size):>9}" for name, size in sizes]
    return [*rows, f"{'together':30} {size_text(sum(size for _, size in sizes)):>9}"]


def size_text(size_bytes):
    power = max(size_bytes.bit_length() - 1, 0) // 10
    return f"{size_bytes / 1024**power:.1f} {'KMGTP'[power - 1]}iB" if power else f"{size_bytes} B"
