"""Reports at the capture, while the program can still be changed, what `generate` would report later."""

from __future__ import annotations

from collections import Counter

STARVED = 0.1  # largest share of a steady step's time in which its threads are ready and have no CPU

OTHER_WAY = 0.005  # share of a step's operators; generate uses no times of steps that differ more
PLAIN_GLOO = "gloo"


def of_steps(operators, profiled):
    """`operators` has counts for "kineto_only" (all profiled steps) and "kineto" (the traced
    step)."""
    traced, seen = operators.get("kineto", Counter()), operators.get("kineto_only", Counter())
    wanted = Counter({name: count * profiled for name, count in traced.items()})
    differences = {name: abs(seen[name] - wanted[name]) for name in {*seen, *wanted}
                   if seen[name] != wanted[name]}
    if not profiled or not wanted or sum(differences.values()) <= OTHER_WAY * sum(wanted.values()):
        return []
    name = min(differences, key=lambda each: (-differences[each], each))
    return [f"the profiled steps call other operators than the traced one ({name}: {seen[name]} in {profiled} "
            f"steps, {traced[name]} in the traced one), and generate takes no times from such steps "
            "(dissimilar_steps): call step() once a whole step, not for each micro-batch"]


def of_groups(groups, world_size):
    """`groups` has the groups as c10d lists them."""
    plain = [group for group in groups
             if PLAIN_GLOO in str(group.get("backend_config", "")) and 0 < len(group.get("ranks", ())) < world_size]
    if not plain:
        return []
    return [f"plain Gloo on {len(plain)} group{'s' if len(plain) > 1 else ''} of some ranks: it records no group, so "
            "generate takes such a collective as all ranks' (assumed_communication); capture with "
            "--comms nccl-form, or use_nccl_form()"]


def of_regions(regions):
    """`regions` has the number of compiled regions for "kineto_only" (per profiled step) and
    "et"."""
    before, traced = regions.get("kineto_only"), regions.get("et")
    if None in (before, traced) or before == traced:
        return []
    return [f"the profiled steps have {before} compiled regions each and the traced one {traced}: not the same "
            "work, generate will not take it as such"]


def starved_share(steps_ns, waits_ns):
    """Returns the share of the steps' time in which their threads were ready to run and had no CPU; 0 if the system does not say."""
    return 0 if None in waits_ns else sum(waits_ns) / max(1, sum(steps_ns))
