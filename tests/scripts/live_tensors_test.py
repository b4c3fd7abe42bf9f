"""Tests that the tensors that a step leaves alone are found."""

import sys
import unittest
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "capture"))
from understudy.live_tensors import LiveTensors  # noqa: E402
from understudy.indices import IndexRecorder  # noqa: E402

KIB = 1024


def bytes_of(count):
    return torch.zeros(count * KIB, dtype=torch.uint8)


class LiveTensorsTest(unittest.TestCase):
    def untouched_beside(self, step, held):
        """Untouched bytes with `held`, minus those without: this process has tensors of its own."""
        recorder, live_tensors = IndexRecorder(), LiveTensors()
        with recorder:
            step()
        with_held = live_tensors.untouched_bytes(recorder.touched).get("cpu", 0)
        held.clear()
        return with_held - live_tensors.untouched_bytes(recorder.touched).get("cpu", 0)

    def test_what_no_operator_meets(self):
        used, held = bytes_of(1), [bytes_of(64), bytes_of(32)]
        self.assertEqual(self.untouched_beside(lambda: used + 1, held), 96 * KIB)

    def test_what_an_operator_meets_is_touched_whole(self):
        held = [bytes_of(64)]
        self.assertEqual(self.untouched_beside(lambda: held[0][:5] + 1, held), 0)

    def test_memory_counts_once(self):
        base = bytes_of(64)
        held = [base[:10], base[20:], base]
        del base
        self.assertEqual(self.untouched_beside(lambda: None, held), 64 * KIB)

    def test_what_goes_in_the_step_is_not_held(self):
        held = [bytes_of(64), bytes_of(32)]
        self.assertEqual(self.untouched_beside(held.pop, held), 64 * KIB)

    def test_gradients_and_parts_of_sparse_tensors(self):
        weight = torch.zeros(KIB, requires_grad=True)
        weight.grad = torch.zeros(KIB)
        at = torch.arange(KIB).unsqueeze(0)
        held = [weight, torch.sparse_coo_tensor(at, torch.ones(KIB), (KIB,), check_invariants=True)]
        del weight, at
        self.assertEqual(self.untouched_beside(lambda: None, held), (4 + 4 + 8 + 4) * KIB)

    def test_a_gradient_that_is_freed_is_not_held(self):
        weight = torch.zeros(KIB, requires_grad=True)
        weight.grad = torch.zeros(KIB)
        held = [weight]

        def step():
            held[0].grad = None

        del weight
        self.assertEqual(self.untouched_beside(step, held), 4 * KIB)


if __name__ == "__main__":
    unittest.main()
