"""The tables of a fidelity run, for people."""

import statistics

from .limits import class_difference, worst_classes
from .paired import paired_ratio


def interval(figure):
    if figure["confidence"] == 0:
        return "one round"
    return f"{figure['low']:.3f} to {figure['high']:.3f}"


def ratio_rows(samples, key):
    return [[sample["name"], f"{sample[key]['original_ms']:.2f}", f"{sample[key]['replay_ms']:.2f}",
             f"{sample[key]['ratio']:.3f}", interval(sample[key]),
             f"{sample[key]['plain_ratio']:.3f}",
             *[verdict(sample, f"{key} {ratio}") for ratio in ("ratio", "plain_ratio")]]
            for sample in samples]


def verdict(sample, gate):
    return "MISSED" if any(miss["gate"] == gate for miss in sample["misses"]) else "ok"


def gap_rows(samples):
    """Shows where the fastest replay differs from the original: in gaps or in operators. Times are by the clock, so that the columns add
    up."""
    rows = []
    for sample in samples:
        asap, operators = sample["asap"], sample["operators"]
        difference = asap["replay_ms"] - asap["original_ms"]
        original_gaps = asap["original_ms"] - operators["original_ms"]
        replay_gaps = asap["replay_ms"] - operators["replay_ms"]
        rows.append([sample["name"], f"{asap['original_ms']:.2f}", f"{asap['replay_ms']:.2f}",
                     f"{asap['by_the_clock']['ratio']:.3f}", interval(asap['by_the_clock']),
                     f"{difference:+.2f}",
                     f"{replay_gaps - original_gaps:+.2f}",
                     f"{operators['replay_ms'] - operators['original_ms']:+.2f}"])
    return rows


def memory_rows(samples):
    return [[sample["name"], *memory_cells(sample["peak_tensor_bytes"]), f"{class_difference(sample):.1%}",
             worst_classes(sample)] for sample in samples]


def counter_rows(samples):
    """Compares each counter that both sides have, under the same conditions, over the undisturbed rounds."""
    rows = []
    for sample in samples:
        quiet = [item for item in sample["rounds"] if not item["disturbed"]] or sample["rounds"]
        for pace, steps in (("recorded", "unprofiled"), ("asap", "profiled")):
            sides = [(item["original"]["counters"][pace], item[pace]["counters"]) for item in quiet]
            for name in sorted(set.intersection(*(original.keys() & replay.keys() for original, replay in sides))):
                pairs = [(original[name], replay[name]) for original, replay in sides]
                ratio = paired_ratio(pairs) if min(map(min, pairs)) > 0 else None  # a logarithm needs a number above 0
                rows.append([sample["name"], *(number(statistics.median(side)) for side in zip(*pairs)),
                             f"{ratio['ratio']:.3f}" if ratio else "-", interval(ratio) if ratio else "-", steps, name])
    return rows


def memory_cells(peak):
    if peak is None:
        return ["-", "-", "-"]
    return [f"{peak['original'] / 1e6:.1f}", f"{peak['replay'] / 1e6:.1f}",
            f"{peak['replay'] / peak['original']:.3f}"]


def gate_rows(samples):
    """Shows the result of each gate by sample: the number of misses, or ok."""
    kinds = ("coverage", "values", "outputs", "profile", "classes", "memory", "rounds")
    rows = []
    for sample in samples:
        gates = [miss["gate"] for miss in sample["misses"]]
        rows.append([sample["name"], "MISSED" if gates else "ok",
                     *[f"MISSED ({gates.count(kind)})" if kind in gates else "ok"
                       for kind in kinds]])
    return rows


def pace_rows(samples):
    rows = []
    for sample in samples:
        pace = sample["rounds"][-1]["recorded"]["pace"]
        issues = max(1, pace["on_time"] + pace["unready"])
        rows.append([sample["name"], str(pace["paced"]), f"{pace['on_time'] / issues:.1%}",
                     number(pace["error_median_us"]), number(pace["error_p99_us"]),
                     number(pace["unready_ms"]), number(pace["drift_end_us"])])
    return rows


def number(value):
    return "-" if value is None else f"{value:.2f}"


def sections(document):
    samples = document["samples"]
    if not samples:
        return []
    confidence = f"{100 * samples[0]['operators']['confidence']:.0f} %"
    ratio_head = ["sample", "original, ms", "replay, ms", "at one speed", confidence,
                  "by the clock", "at one speed", "by the clock"]
    asap_head = ["sample", "original, ms", "replay, ms", "by the clock", confidence]
    return [
        ("(a) Sum of the operators' own times, replay asap against original", ratio_head,
         ratio_rows(samples, "operators")),
        ("(b) Iteration time, --pace recorded, against the un-profiled original", ratio_head,
         ratio_rows(samples, "recorded")),
        ("(c) Iteration time, --pace asap, and where the difference lies",
         [*asap_head, "difference, ms", "in gaps", "in operators"], gap_rows(samples)),
        ("How well the pace was kept", ["sample", "operators", "on time", "error median, us",
                                        "error p99, us", "unready, ms an iteration",
                                        "drift at the end, us"],
         pace_rows(samples)),
        ("Peak of live tensor bytes; time by class",
         ["sample", "peak MB", "replay MB", "ratio", "classes off", "most in"], memory_rows(samples)),
        ("Counters a step: unprofiled steps against the paced replay, profiled ones against the fastest",
         ["sample", "original", "replay", "ratio", confidence, "steps", "counter"], counter_rows(samples)),
        ("Gates", ["sample", "verdict", "coverage", "values", "outputs", "profile", "classes",
                   "memory", "rounds"], gate_rows(samples)),
    ]


def to_text(document):
    settings = document["settings"]
    lines = [f"{settings['rounds']} rounds, {settings['threads']} threads, {settings['steps']} "
             "steps a round"]
    for title, head, rows in sections(document):
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
        lines += ["", title]
        for row in [head, *rows]:
            cells = [row[0].ljust(widths[0])] + [cell.rjust(width)
                                                 for cell, width in zip(row[1:], widths[1:])]
            lines.append("  " + "  ".join(cells).rstrip())
    disturbed = [f"{sample['name']} ({sum(item['disturbed'] for item in sample['rounds'])})"
                 for sample in document["samples"]
                 if any(item["disturbed"] for item in sample["rounds"])]
    if disturbed:
        lines += ["", "Rounds disturbed by other programs in spite of repetition: "
                  + ", ".join(disturbed)]
    lines += ["", *verdict_lines(document)]
    return "\n".join(lines)


def verdict_lines(document):
    lines = [f"MISSED  {miss}" for miss in document["misses"]]
    if document["incomplete"]:
        lines.append(f"INCOMPLETE  {document['incomplete']}")
    return lines or ["Every sample is within its limits."]
