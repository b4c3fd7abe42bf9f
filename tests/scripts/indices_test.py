"""Tests what IndexRecorder notes of a step's values."""

import sys
import unittest
from pathlib import Path

import torch
from torch._higher_order_ops.while_loop import while_loop_op
from torch._subclasses.fake_tensor import FakeTensorMode

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "capture"))
from understudy.indices import IndexRecorder  # noqa: E402
from wrapper import Wrapper  # noqa: E402


def record(step):
    recorder = IndexRecorder()
    with recorder, torch.no_grad():
        step()
    return recorder.document(rank=3)


class IndexRecorderTest(unittest.TestCase):
    def test_how_often_indices_occur(self):
        table = torch.ones(10, 4)
        indices = torch.tensor([[7, 2, 7], [7, 1, 9]])
        document = record(lambda: torch.nn.functional.embedding(indices, table))
        self.assertEqual(document["rank"], 3)
        self.assertEqual(document["calls"], {"aten::embedding": 1})
        self.assertEqual(document["left_out"], 0)
        (use,) = document["uses"]
        self.assertEqual((use["op"], use["call"], use["tensor"], use["sizes"]),
                         ("aten::embedding", 0, 1, [2, 3]))
        draws = sum(times * numbers for low_high in use["reuse"]
                    for times, numbers in zip(low_high[2::2], low_high[3::2]))
        self.assertEqual(draws, 6)
        self.assertEqual(use["reuse"][0][0], 1)
        self.assertEqual(use["reuse"][-1][1], 10)
        self.assertNotIn("sorted", use)

    def test_a_loop_runs_and_is_counted(self):
        def step():
            count, = while_loop_op(lambda i: i < 3, lambda i: (i + 1,), (torch.tensor(0),), ())
            self.assertEqual(count.item(), 3)

        self.assertEqual(record(step)["left_out"], 1)

    def test_an_index_that_is_expanded_has_a_run(self):
        index = torch.tensor([[0], [2], [5]]).expand(3, 8)
        document = record(lambda: torch.zeros(6, 8).scatter_add_(0, index, torch.ones(3, 8)))
        (use,) = document["uses"]
        self.assertEqual(use["run"], 8)
        self.assertTrue(use["sorted"])

    def test_zeros_that_a_root_or_a_logarithm_meets(self):
        half = torch.tensor([0.0, 1.0, 0.0, 4.0])

        def step():
            half.sqrt()
            (half + 1).log()
            torch.atan2(half, half + 1)
            torch.addcdiv(half, half, half + 1)
            half.clone().addcdiv_(torch.tensor([0.0, 0.0, 0.0, 1.0]), half + 1)

        self.assertEqual(record(step)["zeros"], [
            {"op": "aten::sqrt", "call": 0, "tensor": 0, "sizes": [4], "share": 0.5},
            {"op": "aten::addcdiv", "call": 0, "tensor": 1, "sizes": [4], "share": 0.5},
            {"op": "aten::addcdiv_", "call": 0, "tensor": 1, "sizes": [4], "share": 0.75}])

    def test_each_tensor_of_a_list_is_told_by_its_place(self):
        zeros = record(lambda: torch._foreach_sqrt([torch.ones(2), torch.zeros(3)]))["zeros"]
        self.assertEqual([(use["tensor"], use["share"]) for use in zeros], [(1, 1.0)])

    def test_integers_and_empty_tensors_have_no_zeros(self):
        document = record(lambda: (torch.zeros(0).sqrt(), torch.zeros(4, dtype=torch.int64).abs()))
        self.assertEqual((document["uses"], document["zeros"]), ([], []))

    def test_what_was_sparse_before_the_step(self):
        at = torch.tensor([[0, 0, 2], [1, 3, 1]])
        matrix = torch.sparse_coo_tensor(at, torch.ones(3), (4, 5), is_coalesced=True)
        rows = matrix.to_sparse_csr()

        def step():
            torch.sparse.mm(matrix, torch.ones(5, 2))
            torch.sparse.mm(matrix, torch.ones(5, 2))
            (matrix * 2).t()  # made in the step
            rows @ torch.ones(5, 2)

        document = record(step)
        first, second = document["sparse"]
        self.assertEqual({key: value for key, value in first.items() if key not in ("op", "call")},
                         {"tensor": 1, "sizes": [4, 5], "layout": "coo", "elements": 3,
                          "coalesced": True,
                          "indices": [{"reuse": [[0, 2, 2, 1], [2, 3, 1, 1]], "sorted": True},
                                      {"reuse": [[1, 3, 2, 1], [3, 4, 1, 1]]}]})
        self.assertEqual((second["layout"], second["elements"], second["coalesced"]),
                         ("csr", 3, True))

    def test_numbers_are_told_where_a_wrapper_of_integers_keeps_the_trace_from_it(self):
        seven = torch.tensor(7)

        def step():
            return (torch.arange(4) - 3).remainder(seven)

        self.assertEqual(record(step)["uses"], [])
        uses = record(lambda: (step(), Wrapper(torch.arange(2)) + 1))["uses"]
        self.assertEqual([(use["op"], use["tensor"], use["sizes"], use["reuse"]) for use in uses],
                         [("aten::sub", 1, [], [[3, 4, 1, 1]]),
                          ("aten::remainder", 1, [], [[7, 8, 1, 1]]),
                          ("aten::add", 1, [], [[1, 2, 1, 1]])])

    def test_fake_tensors_are_let_through(self):
        def step():
            with FakeTensorMode():
                torch.ones(2).addcdiv_(torch.ones(2), torch.ones(2))

        self.assertNotIn("aten::addcdiv_", record(step)["calls"])


if __name__ == "__main__":
    unittest.main()
