"""Decides whether steps are steady yet: clocks, caches, allocators and compilers take their
time."""

from __future__ import annotations

import statistics

from . import job

LEAST_S = 10.0  # of steps, before a verdict
LEAST_STEPS = 8
AGREEMENT = 0.02  # largest difference between the medians of the third and the fourth quarter
GROWTH = 1.05  # of steps from one look to the next: all ranks look at the same, which costs a gather
PROGRESS_S = 5.0  # of steps between two lines


class Settling:
    """Call is_over() after each timed step, until it is True. `facts` are then those of capture.json,
    `notice` is a sentence if the steps were not steady."""

    def __init__(self, most_s, say=None):
        self._most_s = most_s
        self._say = say
        self._next_look = 0
        self._next_line_s = 0.0
        self.facts = None
        self.notice = None

    def is_over(self, steps_ns):
        """Takes the times of all timed steps. Ranks call it equally often and get the same answer."""
        if self._most_s <= 0:
            return True
        if len(steps_ns) < self._next_look:
            return False
        self._next_look = int(GROWTH * len(steps_ns)) + 1
        told = job.gather((sum(steps_ns) / 1e9, quarters_differ(steps_ns)))
        spent_s = max(spent for spent, _ in told)
        differences = [difference for _, difference in told]
        differ = None if None in differences else max(differences)
        is_steady = differ is not None and differ <= AGREEMENT
        self.facts = {"is_steady": is_steady, "quarters_differ": differ, "waited_s": spent_s}
        by = "" if differ is None else f", quarters of {spent_s / 4:.0f} s differ by {differ:.0%}"
        if is_steady or spent_s >= self._most_s:
            if not is_steady:
                self.notice = (f"steps were not steady after {spent_s:.0f} s{by or ', there were too few'}; the "
                               "capture is of them as they were")
            return True
        if self._say and job.rank() == 0 and spent_s >= self._next_line_s:
            self._next_line_s = spent_s + PROGRESS_S
            self._say(f"waiting for steady steps: {statistics.median(last_quarter(steps_ns)) / 1e6:.2f} ms "
                      f"each{by}; {spent_s:.0f} of at most {self._most_s:.0f} s")
        return False


def last_quarter(steps_ns):
    return steps_ns[3 * len(steps_ns) // 4:]


def quarters_differ(steps_ns):
    """The difference between the medians of the third and the fourth quarter of the steps; None if
    there are too few."""
    if len(steps_ns) < LEAST_STEPS or sum(steps_ns) < LEAST_S * 1e9:
        return None
    third = steps_ns[len(steps_ns) // 2:3 * len(steps_ns) // 4]
    return abs(statistics.median(last_quarter(steps_ns)) / statistics.median(third) - 1)
