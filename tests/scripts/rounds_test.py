"""Tests how a fidelity run combines its rounds."""

import sys
import unittest
from pathlib import Path

sys.path[:0] = map(str, (Path(__file__).resolve().parents[1], Path(__file__).resolve().parents[2] / "capture"))
from fidelity.rounds import compare, compare_classes  # noqa: E402

ROUNDS = 6


def a_round(replay_ms, original_speed_probe_ms, replay_speed_probe_ms):
    return {"original": {"step_ms": 100.0, "speed_probe_ms": original_speed_probe_ms,
                         "profiled_speed_probe_ms": original_speed_probe_ms},
            "asap": {"iteration_ms": replay_ms, "speed_probe_ms": replay_speed_probe_ms,
                     "profiled_speed_probe_ms": replay_speed_probe_ms,
                     "classes": {"matmul": {"original_ms": 60.0, "replay_ms": 0.6 * replay_ms},
                                 "copy": {"original_ms": 80.0, "replay_ms": 0.8 * replay_ms}}}}


def ratio_of(rounds):
    return compare(rounds, ("original", "step_ms"), ("asap", "iteration_ms"), "speed_probe_ms")


class RoundsTest(unittest.TestCase):
    def test_a_slower_machine_is_no_slower_replay(self):
        figure = ratio_of([a_round(110.0, 0.1, 0.11)] * ROUNDS)
        self.assertAlmostEqual(figure["ratio"], 1.0)
        self.assertAlmostEqual(figure["by_the_clock"]["ratio"], 1.1)
        self.assertEqual((figure["original_ms"], figure["replay_ms"]), (100.0, 110.0))

    def test_a_slower_replay_is_one(self):
        figure = ratio_of([a_round(110.0, 0.1, 0.1)] * ROUNDS)
        self.assertAlmostEqual(figure["ratio"], 1.1)

    def test_without_a_speed_probe_the_clock_counts(self):
        for readings in ((None, None), (0.1, None), (None, 0.1)):
            figure = ratio_of([a_round(110.0, *readings)] * ROUNDS)
            self.assertAlmostEqual(figure["ratio"], 1.1)

    def test_classes_too(self):
        rows = compare_classes([a_round(110.0, 0.1, 0.11)] * ROUNDS)
        self.assertEqual([row["class"] for row in rows], ["copy", "matmul"])  # by falling time
        self.assertAlmostEqual(rows[1]["original_ms"], 60.0)
        self.assertAlmostEqual(rows[1]["replay_ms"], 60.0)


if __name__ == "__main__":
    unittest.main()
