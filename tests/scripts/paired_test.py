"""Tests the robust ratio of two sides measured in turn."""

import itertools
import math
import sys
import unittest
from pathlib import Path

sys.path[:0] = map(str, (Path(__file__).resolve().parents[1], Path(__file__).resolve().parents[2] / "capture"))
from fidelity.paired import paired_ratio  # noqa: E402


def pairs_of(ratios):
    return [(10.0 * (i + 1), 10.0 * (i + 1) * ratio) for i, ratio in enumerate(ratios)]


class PairedRatioTest(unittest.TestCase):
    def test_is_the_ratio_where_all_rounds_agree(self):
        figure = paired_ratio(pairs_of([1.02] * 6))
        for key in ("ratio", "low", "high"):
            self.assertAlmostEqual(figure[key], 1.02)

    def test_a_disturbed_round_moves_it_little(self):
        quiet = [1.00, 1.01, 1.02, 1.03, 1.04]
        figure = paired_ratio(pairs_of([*quiet, 1.6]))
        self.assertLess(abs(figure["ratio"] - 1.025), 0.006)
        mean = math.exp(sum(map(math.log, [*quiet, 1.6])) / 6)
        self.assertGreater(mean, 1.09)

    def test_swapped_sides_give_the_inverse(self):
        pairs = pairs_of([0.97, 1.01, 1.05, 1.2, 0.9, 1.0, 1.03])
        figure = paired_ratio(pairs)
        swapped = paired_ratio([(replay, original) for original, replay in pairs])
        self.assertAlmostEqual(swapped["ratio"], 1 / figure["ratio"])
        self.assertAlmostEqual(swapped["low"], 1 / figure["high"])

    def test_few_rounds_have_the_widest_interval(self):
        for rounds, confidence in ((1, 0.0), (2, 0.5), (5, 0.9375), (6, 0.96875)):
            figure = paired_ratio(pairs_of([1 + 0.01 * i for i in range(rounds)]))
            self.assertAlmostEqual(figure["low"], 1)
            self.assertAlmostEqual(figure["high"], 1 + 0.01 * (rounds - 1))
            self.assertEqual(figure["confidence"], confidence)

    def test_the_confidence_is_that_of_all_signs(self):
        """By counting: over equally likely signs around the true ratio, as many intervals hold it
        as they claim."""
        for rounds in (6, 8, 10):
            sizes = [0.01 * 1.37**i for i in range(rounds)]
            held = 0
            for signs in itertools.product((-1, 1), repeat=rounds):
                figure = paired_ratio([(1, math.exp(a * b)) for a, b in zip(signs, sizes)])
                held += figure["low"] <= 1 <= figure["high"]
            self.assertAlmostEqual(held / 2**rounds, figure["confidence"])
            self.assertGreaterEqual(figure["confidence"], 0.95)


if __name__ == "__main__":
    unittest.main()
