"""Decides whether steps are steady yet: clocks, caches, allocators and compilers take their
time."""

from __future__ import annotations

import statistics

from . import job

WINDOW_S = 2.0  # seconds of the last steps, whose halves are compared
AGREEMENT = 0.02  # largest difference between the medians of the halves
LEAST_STEPS = 4
GROWTH = 1.25  # of steps from one look to the next: all ranks look at the same, which costs a gather


class Settling:
    """Takes each step's time until is_over(); `notice` then says if the steps were not steady."""

    def __init__(self, most_s):
        self._most_s = most_s
        self._steps = []
        self._next_look = LEAST_STEPS
        self.notice = None

    def is_over(self, step_ns):
        """Takes a step's time; all ranks call it equally often and get the same answer."""
        if self._most_s <= 0:
            return True
        self._steps.append(step_ns)
        if len(self._steps) < self._next_look:
            return False
        self._next_look = int(GROWTH * len(self._steps)) + 1
        told = job.gather((sum(self._steps) / 1e9, half_difference(self._steps)))
        spent_s = max(spent for spent, _ in told)
        differences = [difference for _, difference in told]
        if None not in differences and max(differences) <= AGREEMENT:
            return True
        if spent_s < self._most_s:
            return False
        by = "there were too few" if None in differences else \
            f"halves of the last {WINDOW_S:.0f} s differ by {max(differences):.0%}"
        self.notice = f"steps were not steady after {spent_s:.0f} s: {by}; the capture is of them as they were"
        return True


def half_difference(steps_ns):
    """The difference between the medians of the halves of the last WINDOW_S of steps; None if there
    are fewer."""
    spent, count = 0, 0
    for step in reversed(steps_ns):
        spent, count = spent + step, count + 1
        if spent >= WINDOW_S * 1e9 and count >= LEAST_STEPS:
            window = steps_ns[-count:]
            first, second = window[:count // 2], window[-(count // 2):]
            return abs(statistics.median(second) / statistics.median(first) - 1)
    return None
