"""The limits of a sample's rounds. Each gate can fail, with a reason."""

RANKS_LIMIT = 0.05  # several ranks share the cores: |ratio - 1|
AVERAGE_SHARE = 2 / 3  # share of a sample's limit that limits the average over all samples
CLASS_LIMIT = 0.06  # share of the step: sum of |time by class, replay - original|
MEMORY_LIMIT = 0.05  # |peak of live tensor bytes - 1|
LEAST_COVERAGE = 0.999  # by count, and by time including decomposed operators' own time
PACES = ("recorded", "asap")
FIGURES = (("operators", "sum of operator times"), ("recorded", "paced iteration"))
VERDICTS = (("ratio", "normalised for machine speed"), ("plain_ratio", "by the clock"))
HEALTH = ("coverage", "values", "output_mismatches", "losses")  # gates of a replay, even of a disturbed one
STALE_PROFILE = "unlinked_profile"  # et_schema/model/losses.h


def limit_of(sample, limit):
    return max(limit, RANKS_LIMIT) if sample["ranks"] > 1 else limit


def class_difference(sample):
    """Returns the sum over classes of |replay - original|, as a share of the original step."""
    total = sum(abs(row["replay_ms"] - row["original_ms"]) for row in sample["classes"])
    return total / sample["recorded"]["original_ms"]


def worst_classes(sample, most=3):
    rows = sorted(sample["classes"], key=lambda row: -abs(row["replay_ms"] - row["original_ms"]))
    return ", ".join(f"{row['class']} {row['replay_ms'] - row['original_ms']:+.2f} ms"
                     for row in rows[:most])


def misses(samples, limit):
    """Returns {"sample", "gate", "reason"} for each missed limit; "sample" None: all samples together."""
    found = [{"sample": sample["name"], "gate": gate, "reason": reason}
             for sample in samples for gate, reason in of_sample(sample, limit)]
    return found + [{"sample": None, "gate": gate, "reason": reason}
                    for gate, reason in of_average(samples, limit)]


def of_sample(sample, limit):
    """Returns (gate, reason) of each limit that the sample misses."""
    found = [miss for key, what in FIGURES for miss in _ratios(sample, key, what, limit)]
    found += _classes(sample) + _memory(sample)
    for number, figures in enumerate(sample["rounds"], start=1):
        tries = [("", figures), *((", another try", other) for other in figures.get("other_tries", []))]
        for which, tried in tries:
            for pace in PACES:
                found += [(gate, f"round {number}{which}, --pace {pace}: {reason}")
                          for gate, reason in _health(tried[pace])]
    if sample.get("incomplete"):
        found.append(("rounds", f"{len(sample['rounds'])} of {sample['rounds_wanted']} rounds were "
                                "measured"))
    return found


def of_average(samples, limit):
    found = []
    for key, what in FIGURES if len(samples) > 1 else ():
        for verdict, how in VERDICTS:
            average = sum(abs(sample[key][verdict] - 1) for sample in samples) / len(samples)
            if not average <= limit * AVERAGE_SHARE:
                found.append((f"{key} {verdict}", f"{what}, {how}: |ratio - 1| is {average:.3f} on "
                                                  f"average, limit {limit * AVERAGE_SHARE:g}"))
    return found


def _ratios(sample, key, what, limit):
    most = limit_of(sample, limit)
    return [(f"{key} {verdict}", f"{what}, {how}: ratio {sample[key][verdict]:.3f}, limit 1 ± "
                                 f"{most:g}")
            for verdict, how in VERDICTS if not abs(sample[key][verdict] - 1) <= most]


def _classes(sample):
    difference = class_difference(sample)
    if difference <= CLASS_LIMIT:
        return []
    return [("classes", f"time by class: differences add up to {difference:.1%} of the step, limit "
                        f"{CLASS_LIMIT:.0%}; most in {worst_classes(sample)}")]


def _memory(sample):
    peak = sample["peak_tensor_bytes"]
    if peak is None:
        return [("memory", "peak of live tensor bytes: not measured")]
    if abs(peak["replay"] / peak["original"] - 1) <= MEMORY_LIMIT:
        return []
    return [("memory", f"peak of live tensor bytes: {peak['replay']:.0f} against "
                       f"{peak['original']:.0f}, limit {MEMORY_LIMIT:.0%}")]


def _health(replay):
    """Checks coverage, values and the profile of one replay."""
    found = []
    # The own time of decomposed operators is not replayed: their parts run instead. Between operators a paced replay waits.
    opened = replay["coverage"]["opened_time"]
    for by, besides, note in (("count", 0, ""),
                              ("time", opened, f" (and {opened:.2%} of opened operators' own and between operators)")):
        share = replay["coverage"][by]
        if share is None:
            found.append(("coverage", f"coverage by {by} is not known: no profile is linked"))
        elif not share + besides >= LEAST_COVERAGE:
            found.append(("coverage", f"coverage by {by} {share:.2%}{note if besides else ''}, "
                                      f"limit {LEAST_COVERAGE:.1%}"))
    found += [("values", f"{replay['values'][kind]} tensors with {kind} elements")
              for kind in ("nan", "inf", "subnormal") if replay["values"][kind]]
    if replay["output_mismatches"]:
        found.append(("outputs", f"{replay['output_mismatches']} outputs differ from the trace"))
    if replay["losses"].get(STALE_PROFILE):
        found.append(("profile", "the round's own profile fits none of the trace's steps: recorded "
                                 "times are the capture's old ones"))
    return found
