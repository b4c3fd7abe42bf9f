"""The tables of a fidelity run, for people, and the limits that it is held to."""

RANKS_LIMIT = 0.05  # several ranks share the cores: |ratio - 1|
AVERAGE_SHARE = 2 / 3  # of a sample's limit: of the average over all samples
CLASS_LIMIT = 0.06  # of the step: sum of |time by class, replay - original|
MEMORY_LIMIT = 0.05  # |peak of live tensor bytes - 1|


def off_by(figure):
    return abs(figure["ratio"] - 1)


def limit_of(sample, limit):
    return max(limit, RANKS_LIMIT) if sample["ranks"] > 1 else limit


def class_difference(sample):
    """Sum over classes of |replay - original|, as a share of the original step."""
    total = sum(abs(row["replay_ms"] - row["original_ms"]) for row in sample["classes"])
    return total / sample["recorded"]["original_ms"]


def misses(samples, limit):
    """Sentences, one for each limit that is not kept."""
    found = []
    for key, what in (("operators", "sum of operator times"), ("recorded", "paced iteration")):
        for sample in samples:
            most = limit_of(sample, limit)
            if off_by(sample[key]) > most:
                found.append(f"{sample['name']}: {what}: ratio {sample[key]['ratio']:.3f}, "
                             f"limit 1 ± {most:g}")
        average = sum(off_by(sample[key]) for sample in samples) / max(len(samples), 1)
        if len(samples) > 1 and average > limit * AVERAGE_SHARE:
            found.append(f"all samples: {what}: |ratio - 1| is {average:.3f} on average, limit "
                         f"{limit * AVERAGE_SHARE:g}")
    for sample in samples:
        if class_difference(sample) > CLASS_LIMIT:
            found.append(f"{sample['name']}: time by class: differences add up to "
                         f"{class_difference(sample):.1%} of the step, limit {CLASS_LIMIT:.0%}; "
                         f"most in {worst_classes(sample)}")
        peak = sample["peak_tensor_bytes"]
        if abs(peak["replay"] / peak["original"] - 1) > MEMORY_LIMIT:
            found.append(f"{sample['name']}: peak of live tensor bytes: {peak['replay']:.0f} "
                         f"against {peak['original']:.0f}, limit {MEMORY_LIMIT:.0%}")
        found += unhealthy(sample)
    return found


def unhealthy(sample):
    last = sample["rounds"][-1]["asap"]
    values = {kind: last["values"][kind] for kind in ("nan", "inf", "subnormal")}
    found = [f"{sample['name']}: {count} tensors with {kind} elements"
             for kind, count in values.items() if count]
    if last["output_mismatches"]:
        found.append(f"{sample['name']}: {last['output_mismatches']} outputs differ from the trace")
    return found


def worst_classes(sample, most=3):
    rows = sorted(sample["classes"], key=lambda row: -abs(row["replay_ms"] - row["original_ms"]))
    return ", ".join(f"{row['class']} {row['replay_ms'] - row['original_ms']:+.2f} ms"
                     for row in rows[:most])


def interval(figure):
    if figure["confidence"] == 0:
        return "one round"
    return f"{figure['low']:.3f} to {figure['high']:.3f}"


def ratio_rows(samples, key):
    return [[sample["name"], f"{sample[key]['original_ms']:.2f}", f"{sample[key]['replay_ms']:.2f}",
             f"{sample[key]['ratio']:.3f}", interval(sample[key]),
             f"{sample[key]['by_the_clock']['ratio']:.3f}", interval(sample[key]['by_the_clock'])]
            for sample in samples]


def gap_rows(samples):
    """Where the fastest replay's difference to the original lies, in gaps or in operators; by the
    clock, so that the columns add up."""
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


def system_rows(samples):
    rows = []
    for sample in samples:
        last = [item for item in sample["rounds"] if not item["disturbed"]] or sample["rounds"]
        original, replay = last[-1]["original"], last[-1]["recorded"]
        asap = last[-1]["asap"]["counters"]
        peak = sample["peak_tensor_bytes"]
        rows.append([sample["name"], f"{peak['original'] / 1e6:.1f}", f"{peak['replay'] / 1e6:.1f}",
                     f"{peak['replay'] / peak['original']:.3f}",
                     f"{original['minor_faults']:.0f}", f"{asap['minor_faults']:.0f}",
                     f"{original['cpu_ms']:.1f}", f"{replay['counters']['cpu_ms']:.1f}",
                     f"{class_difference(sample):.1%}", worst_classes(sample)])
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
    confidence = f"{100 * samples[0]['operators']['confidence']:.0f} %"
    ratio_head = ["sample", "original, ms", "replay, ms", "ratio", confidence, "by the clock",
                  confidence]
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
        ("System: peak of live tensor bytes, page faults (asap) and CPU time (recorded) a step, "
         "time by class",
         ["sample", "peak MB", "replay MB", "ratio", "faults", "replay", "CPU ms", "replay",
          "classes off", "most in"], system_rows(samples)),
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
    lines += [""] + ([f"MISSED  {miss}" for miss in document["misses"]]
                     or ["Every sample is within its limits."])
    return "\n".join(lines)


def to_markdown(document):
    parts = []
    for title, head, rows in sections(document):
        parts += [f"### {title}", "", "| " + " | ".join(head) + " |",
                  "| --- " + "| ---: " * (len(head) - 1) + "|",
                  *("| " + " | ".join(row) + " |" for row in rows), ""]
    parts += [f"- Missed: {miss}" for miss in document["misses"]]
    return "\n".join(parts) + "\n"
