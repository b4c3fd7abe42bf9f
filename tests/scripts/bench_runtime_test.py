"""Tests how emitted Python projects make tensors."""

import sys
import unittest
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "generator" / "emitter" / "runtime"))
import bench  # noqa: E402
from bench.observe import checksum, gives_fresh_memory, noting_checksums  # noqa: E402
from bench.operators import CannotCall, wrap  # noqa: E402
from bench.tensors import Maker, choose_device  # noqa: E402


class BenchRuntimeTest(unittest.TestCase):
    def test_parts_keep_their_rules_where_draws_take_turns(self):
        make = Maker(0)
        whole = make.tensor(1, torch.int64, [8], rule=bench.integers(0, 1000))
        make.view(2, whole, torch.int64, [4], rule=bench.integers(5000, 6000), offset=4)
        make.varies([whole])
        make.fill_all()
        first = whole.clone()
        self.assertGreaterEqual(int(first[4:].min()), 5000)
        make.remember()
        self.assertEqual(whole.tolist(), first.tolist())
        for variant in range(4):
            make.vary(variant)
            self.assertGreaterEqual(int(whole[4:].min()), 5000)

    def test_zeros_lie_where_the_step_writes_nothing_and_come_back(self):
        zero_rows = {1: [0, 1, 2, 3, 4, 6, 7], 0.5: [1, 3, 6, 7], 0: []}
        for share, expected in zero_rows.items():
            make = Maker(0)
            state = make.tensor(1, torch.float32, [8, 4], rule=bench.constant(2.0))
            make.changes([state])
            make.had_zeros([(state, share)])
            make.fill_all()
            make.remember()
            make.clear_zeros()
            state[5] += 1
            make.settle_zeros()
            for _ in range(2):
                self.assertEqual((state == 0).all(1).nonzero().flatten().tolist(), expected)
                self.assertEqual(set(state.flatten().tolist()) - {0.0, 2.0}, set())
                state[:] = 3
                make.restore()

    def test_operators_that_nobody_has_are_named_before_anything_runs(self):
        with self.assertRaisesRegex(CannotCall, "has no operator nobody::knows, nobody::knows.out: use the release"):
            bench.operators("aten::mul.Tensor", "nobody::knows", "nobody::knows.out")
        with self.assertRaisesRegex(CannotCall, "has no operator aten::__class__:"):
            bench.operators("aten::__class__")

    def test_operators_that_a_device_lacks_are_named_before_anything_runs(self):
        library = torch.library.Library("placed", "DEF")
        library.define("elsewhere(Tensor x) -> Tensor")
        library.impl("elsewhere", lambda x: x, "CUDA")
        with self.assertRaisesRegex(CannotCall, "^cpu lacks operators of the step: placed::elsewhere$"):
            bench.operators("aten::mul.Tensor", "placed::elsewhere")
        bench.operators("placed::elsewhere", places=["cuda"])
        bench.operators("aten::_indices")  # of sparse tensors

    def test_a_device_that_only_a_package_brings_is_imported_by_name(self):
        with self.assertRaisesRegex(ImportError, "torch_npu"):
            choose_device("npu:0", 0)
        with self.assertRaisesRegex(ImportError, "habana_frameworks"):
            choose_device("hpu", 0)

    def test_operators_are_attributes_and_can_be_wrapped(self):
        bench.row("nobody::doubles", ["x", "scale"], ["scale", "x", None],
                  "def row(scale: int, x: Tensor, y: Optional[Tensor]):\n  return x * scale\n")
        aten, nobody = bench.operators("nobody::doubles", "aten::__and__.Tensor", "aten::relu")
        self.assertEqual(aten.relu.default(torch.tensor(-1.0)), 0)
        self.assertEqual(getattr(aten, "__and__").Tensor(torch.tensor(6), torch.tensor(3)), 2)
        self.assertEqual(nobody.doubles.default(torch.tensor(3), scale=2), 6)
        called = []
        wrap(lambda name, call: lambda *given, **named: (called.append(name), call(*given, **named))[1])
        nobody.doubles.default(aten.relu.default(torch.tensor(3)), 2)
        wrap(lambda name, call: call)
        self.assertEqual(called, ["aten::relu", "nobody::doubles"])
        aten.relu.default(torch.tensor(3))
        self.assertEqual(len(called), 2)

    def test_another_layout_begins_at_a_byte(self):
        base = torch.arange(8, dtype=torch.float32)[2:]
        self.assertEqual(bench.relayout(base, torch.float32, [2], [2], 4).tolist(), [3, 5])
        halves = base.view(torch.int32).view(torch.int16)
        self.assertEqual(bench.relayout(base, torch.int16, [4], [1], 6).tolist(), halves[3:7].tolist())

    def test_zeros_without_memory_have_a_checksum(self):
        self.assertEqual(checksum(torch._efficientzerotensor((2, 3))),
                         checksum(torch.zeros(2, 3)))

    def test_views_of_memory_that_nobody_has_written_have_no_checksum(self):
        lines = []
        note = noting_checksums(lines)

        def call(name, *given):
            base, _, overload = name.partition(".")
            return note(f"aten::{name}", getattr(getattr(torch.ops.aten, base), overload or "default"))(*given)

        rows = call("empty.memory_format", [2, 2])
        for row in range(2):
            call("copy_", call("select.int", rows, 0, row), torch.full((2,), float(row)))
        call("neg", rows)
        call("fill_.Scalar", rows, 3.0)
        call("select.int", rows, 0, 0)
        written = [checksum(torch.full((2,), value)) for value in (0.0, 1.0)]
        threes = torch.full((2, 2), 3.0)
        self.assertEqual(lines, [
            "aten::empty.memory_format fresh",
            "aten::select.int fresh", f"aten::copy_ {written[0]}",
            "aten::select.int fresh", f"aten::copy_ {written[1]}",
            f"aten::neg {checksum(torch.tensor([[-0.0, -0.0], [-1.0, -1.0]]))}",
            f"aten::fill_.Scalar {checksum(threes)}", f"aten::select.int {checksum(threes[0])}"])

    def test_fresh_memory_is_that_of_the_replay(self):
        listed = Path(__file__).resolve().parents[1] / "unit/data/fresh_memory.txt"
        lines = [line.split() for line in listed.read_text(encoding="utf-8").splitlines()]
        self.assertGreater(len(lines), 20)
        self.assertEqual([[op, result, "yes" if gives_fresh_memory(op, int(result)) else "no"]
                          for op, result, _ in lines], lines)

    def test_views_that_conjugate_have_the_checksum_of_what_they_show(self):
        values = torch.tensor([1 + 2j, 3 - 4j])
        self.assertEqual(checksum(values.conj()),
                         checksum(torch.tensor([1 - 2j, 3 + 4j])))

    def test_a_single_element_may_have_any_stride(self):
        self.assertEqual(checksum(torch.ones(()).expand(1)), checksum(torch.ones(1)))


if __name__ == "__main__":
    unittest.main()
