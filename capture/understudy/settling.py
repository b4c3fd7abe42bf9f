"""Decides whether steps are steady: clocks, caches, allocators and compilers need time to settle."""

from __future__ import annotations

import math
import statistics

from . import job
from .notices import STARVED, starved_share

LEAST_S = 10.0  # least time of steps before a verdict
LEAST_STEPS = 8
AGREEMENT = 0.02  # largest difference between the medians of the third and the fourth quarter
GROWTH = 1.05  # growth of the number of steps between two checks, since each check costs a gather over all ranks
PROGRESS_S = 5.0  # time of steps between two lines of progress


class Settling:
    """is_over() must be called after each timed step until it returns True. Then `facts` holds the entries of capture.json, and `notices` a
    sentence if the steps were not steady."""

    def __init__(self, most_s, say=None):
        self._most_s = most_s
        self._say = say
        self._next_look = 0
        self._next_line_s = 0.0
        self.facts = None
        self.notices = []

    def is_over(self, steps_ns, waits_ns):
        """Returns True if no more steps are needed. Of all timed steps `steps_ns` are times, `waits_ns` those for a CPU. All ranks must call it equally often; it returns
        the same on all ranks."""
        if self._most_s <= 0:
            return True
        if len(steps_ns) < self._next_look:
            return False
        self._next_look = int(GROWTH * len(steps_ns)) + 1
        told = job.gather((sum(steps_ns) / 1e9, quarters_differ(steps_ns), starved_share(last_quarter(steps_ns), last_quarter(waits_ns))))
        spent_s, differ, starved = map(max, zip(*told))
        is_steady = differ <= AGREEMENT and starved <= STARVED
        by = ""
        if differ < math.inf:
            by = f", quarters of {spent_s / 4:.0f} s differ by {differ:.0%}" + f", without a CPU for {starved:.0%} of the time" * (starved > STARVED)
        self.facts = {"is_steady": is_steady, "quarters_differ": differ if by else None, "waited_s": spent_s}
        if is_steady or spent_s >= self._most_s:
            if not is_steady:
                self.notices = [f"steps were not steady after {spent_s:.0f} s{by or ', there were too few'}; the capture is of them as they were"]
            return True
        if self._say and job.rank() == 0 and spent_s >= self._next_line_s:
            self._next_line_s = spent_s + PROGRESS_S
            self._say(f"waiting for steady steps: {statistics.median(last_quarter(steps_ns)) / 1e6:.2f} ms "
                      f"each{by}; {spent_s:.0f} of at most {self._most_s:.0f} s")
        return False


def last_quarter(steps_ns):
    return steps_ns[3 * len(steps_ns) // 4:]


def quarters_differ(steps_ns):
    """Returns the difference between the medians of the third and the fourth quarter of the steps; infinite if there are too few."""
    if len(steps_ns) < LEAST_STEPS or sum(steps_ns) < LEAST_S * 1e9:
        return math.inf
    third = steps_ns[len(steps_ns) // 2:3 * len(steps_ns) // 4]
    return abs(statistics.median(last_quarter(steps_ns)) / statistics.median(third) - 1)
