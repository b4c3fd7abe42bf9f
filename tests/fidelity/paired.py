"""The ratio of two sides that were measured in turn; disturbed rounds hardly change it."""

import math
import statistics

CONFIDENCE = 0.95


def paired_ratio(pairs):
    """Returns replay ÷ original from the rounds' (original, replay): value, interval, its confidence.

    Uses Hodges and Lehmann's estimate (1963) of the shift of the logarithms: the median of the averages of any two rounds, each with itself
    included. Its interval comes from Wilcoxon's signed ranks, and is exact for any symmetric distribution. Fewer than six rounds cannot
    reach 95 %; their interval is the widest possible, from the smallest ratio to the largest.
    """
    logs = sorted(math.log(replay / original) for original, replay in pairs)
    averages = sorted((a + b) / 2 for i, a in enumerate(logs) for b in logs[i:])
    left_out, confidence = _left_out(len(logs))
    return {"ratio": math.exp(statistics.median(averages)),
            "low": math.exp(averages[left_out]), "high": math.exp(averages[-1 - left_out]),
            "confidence": confidence}


def _left_out(rounds):
    """Returns the number of averages outside of the interval on each side, and the interval's confidence."""
    ways = [1]  # by signed-rank sum: number of the 2^rounds choices of signs that give it
    for rank in range(1, rounds + 1):
        ways = [_at(ways, total) + _at(ways, total - rank) for total in range(len(ways) + rank)]
    outside = ways[0]
    left_out = 0
    while 1 - 2 * (outside + ways[left_out + 1]) / 2**rounds >= CONFIDENCE:
        left_out += 1
        outside += ways[left_out]
    return left_out, 1 - 2 * outside / 2**rounds


def _at(ways, total):
    return ways[total] if 0 <= total < len(ways) else 0
