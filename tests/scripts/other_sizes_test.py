"""Tests which tensors and numbers follow another size: programs by hand, and steps captured with both sizes (tests/batch)."""

import json
import sys
import unittest
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).resolve().parents[2] / "capture" / "understudy"))
import operator_results  # noqa: E402

RULES = operator_results.load()
VIEW = "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)"
ADD = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
EXPAND = "aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)"


class Step:
    """A program by hand; tensors are numbers of slots."""

    def __init__(self):
        self.slots, self.calls, self.schemas = [], [], []

    def tensor(self, *sizes, dtype="float32", **more):
        number = len(self.slots)
        self.slots.append({"slot": number, "storage": number, "dtype": dtype, "sizes": list(sizes)} | more)
        return f"%{number}"

    def data(self, *sizes, **more):
        return self.tensor(*sizes, external=True, **more)

    def call(self, schema, arguments, *results, depth=0):
        """`schema`: whole, or the name of one of this PyTorch's operators. `results`: their sizes, or slots."""
        if "(" not in schema:
            name, _, overload = schema.partition(".")
            schema = str(getattr(getattr(torch.ops.aten, name), overload or "default")._schema)
        made = [one if isinstance(one, str) else self.tensor(*one) for one in results]
        self.schemas.append({"schema": len(self.schemas), "text": schema})
        self.calls.append({"body" if depth else "i": depth or len(self.calls), "op": schema.partition("(")[0], "node": 0,
                           "schema": len(self.schemas) - 1, "args": arguments, "results": made})
        return made[0] if len(made) == 1 else made

    def communicate(self, kind, given, made):
        self.calls.append({"i": len(self.calls), "collective": kind, "node": 0, "args": [[given], [made]], "comm": {"kind": kind, "group": 0}})

    def answer(self, first=4, last=8, anywhere=False, parts=()):
        storages = [{"storage": number, "device": "cpu", "bytes": 0} for number in range(len(self.slots))]
        lines = [{}, *self.schemas, *storages, *self.slots, *self.calls, {"from": first, "to": last, "anywhere": anywhere, "parts": parts}]
        program = operator_results.Program("\n".join(map(json.dumps, lines)), True)
        with torch.no_grad(), torch._C._AutoDispatchBelowAutograd():
            return json.loads(json.dumps(program.other_sizes(operator_results.Progress(), [])))

    def sizes(self, *tensors, **how):
        told = {line["slot"]: line["sizes"] for line in self.answer(**how) if "slot" in line}
        return [told.get(int(tensor[1:]), self.slots[int(tensor[1:])]["sizes"]) for tensor in tensors]

    def refused(self, **how):
        return {self.calls[line["instruction"]]["op"]: line["refused"] for line in self.answer(**how) if "refused" in line}


class BatchTest(unittest.TestCase):
    def test_a_layer_and_its_gradients(self):
        step = Step()
        x, weight = step.data(4, 6), step.data(3, 6)
        y = step.call("linear", [x, weight, "undefined"], (4, 3))
        gradient = step.call(EXPAND, [step.call("sum", [y, None], ()), [4, 3], False], (4, 3))
        turned = step.call("t", [gradient], step.tensor(3, 4, strides=[1, 3]))
        of_weight = step.call("mm", [turned, x], (3, 6))
        self.assertEqual(step.sizes(x, weight, y, gradient, turned, of_weight), [[8, 6], [3, 6], [8, 3], [8, 3], [3, 8], [3, 6]])
        strides = {line["slot"]: line["strides"] for line in step.answer() if "slot" in line}
        self.assertEqual(strides[int(turned[1:])], [1, 3])

    def test_a_batch_of_four_is_no_number_of_heads(self):
        step = Step()
        rows = step.call(VIEW, [step.data(4, 5, 16), [20, 16]], (20, 16))
        heads = step.call(VIEW, [rows, [4, 5, 4, 4]], (4, 5, 4, 4))
        turned = step.call("transpose.int", [heads, 1, 2], step.tensor(4, 4, 5, 4, strides=[80, 4, 16, 1]))
        both = step.call("reshape", [turned, [16, 5, 4]], (16, 5, 4))
        self.assertEqual(step.sizes(rows, heads, turned, both), [[40, 16], [8, 5, 4, 4], [8, 4, 5, 4], [32, 5, 4]])

    def test_what_the_step_writes_follows_only_if_it_must(self):
        step = Step()
        x, weight, cache = step.data(4, 6), step.data(4, 6), step.data(4, 6)
        step.call("mul_.Tensor", [weight, weight], weight)
        step.call("copy_", [cache, x, False], cache)
        self.assertEqual(step.sizes(x, weight, cache), [[8, 6], [4, 6], [8, 6]])

    def test_weights_as_long_as_the_batch(self):
        step = Step()
        x, weight, bias = step.data(4, 6), step.data(4, 6), step.data(4)
        y = step.call("linear", [x, weight, bias], (4, 4))
        last = step.call("linear", [y, step.data(3, 4), "undefined"], (4, 3))
        self.assertEqual(step.sizes(x, weight, bias, y, last), [[8, 6], [4, 6], [4], [8, 4], [8, 3]])

    def test_arguments_agree_though_no_result_shows_their_sizes(self):
        for grows in (True, False):
            step = Step()
            pool, places, mask = step.data(64, 2, 8), step.data(4, dtype="int64"), step.data(9, dtype="bool")
            drawn = step.call("randn", [[4, 8], 6, None, "@cpu", False], (4, 8)) if grows else step.call("index.Tensor", [step.data(9, 8), [mask]], (4, 8))
            both = step.call("stack", [[drawn, drawn], 1], (4, 2, 8))
            step.call("index_put_", [pool, [places], both, False], pool)
            if grows:
                self.assertEqual(step.sizes(pool, places, both), [[64, 2, 8], [8], [8, 2, 8]])
            else:
                self.assertEqual(step.refused(), {"aten::index_put_": "[4, 2, 8] beside [4036]"})

    def test_other_arguments_as_long_as_the_batch_by_chance(self):
        step = Step()
        x, weight, table, tokens = step.data(4, 4), step.data(4), step.data(4, 6), step.data(4, dtype="int64")
        step.call("mul_.Tensor", [table, table], table)  # a parameter that the step trains
        step.call("mul_.Tensor", [weight, weight], weight)
        y, mean, deviation = step.call("native_layer_norm", [x, [4], weight, weight, 0.1], (4, 4), (4, 1), (4, 1))
        step.call("native_layer_norm_backward", [y, x, [4], mean, deviation, weight, weight, [True, True, True]], (4, 4), (4,), (4,))
        found = step.call("embedding", [table, tokens, -1, False, False], (4, 6))
        step.call("embedding_dense_backward", [found, tokens, 4, -1, False], (4, 6))
        self.assertEqual(step.sizes(x, weight, table, tokens, found), [[8, 4], [4], [4, 6], [8], [8, 6]])

    def test_integers_drawn_in_the_step_are_followed(self):
        for name, bounds, size in (("randint", [512], [4, 65]), ("randint.low", [8, 512], [4, 65]), ("randint.low", [8, 512], [260])):
            step = Step()
            drawn = step.call(name, [*bounds, size, 4, None, "@cpu", False], step.tensor(*size, dtype="int64"))
            tokens = step.call(VIEW, [drawn, [4, 65]], step.tensor(4, 65, dtype="int64"))
            found = step.call("embedding", [step.data(512, 24), tokens, -1, False, False], (4, 65, 24))
            self.assertEqual(step.sizes(drawn, found), [[2 * size[0], *size[1:]], [8, 65, 24]])
            self.assertEqual(step.answer(first=5), [{"known": [512]}])

    def test_each_with_each_other(self):
        step = Step()
        x = step.data(4, 6)
        turned = step.call("t", [x], step.tensor(6, 4, strides=[1, 6]))
        self.assertEqual(step.sizes(step.call("mm", [x, turned], (4, 4))), [[8, 8]])

    def test_equal_parts_and_the_end(self):
        step = Step()
        x = step.data(4, 6)
        both = step.call("cat", [[x, x], 0], (8, 6))
        first = step.call("narrow", [both, 0, 0, 4], (4, 6))
        second = step.call("narrow", [both, 0, 4, 4], step.tensor(4, 6, offset=24))
        step.call(ADD, [first, second, 1], (4, 6))
        step.call(ADD, [first, x, 1], (4, 6))
        told = [(line["instruction"], line["argument"], line["number"]) for line in step.answer() if "number" in line]
        self.assertEqual(told, [(1, 3, 8), (2, 2, 8), (2, 3, 8)])
        self.assertEqual([line["offset"] for line in step.answer() if line.get("slot") == int(second[1:])], [48])

    def test_a_mean_is_divided_by_its_elements(self):
        step = Step()
        one = step.call("mean", [step.data(4, 6), None], ())
        wide = step.call(EXPAND, [one, [4, 6], False], step.tensor(4, 6, strides=[0, 0]))
        step.call("mul.Tensor", [step.call("div.Scalar", [wide, 24], (4, 6)), step.data(4, 6)], (4, 6))
        self.assertIn({"instruction": 2, "argument": 1, "number": 48}, step.answer())

    def test_two_makers_of_one_tensor(self):
        step = Step()
        x, seed = step.data(4, 6), step.data(1, 6)
        wide = step.tensor(4, 6, strides=[0, 1])
        step.call(EXPAND, [seed, [4, 6], False], wide)
        step.call(EXPAND, [seed, [4, 6], False], wide)
        step.call(ADD, [x, wide, 1], (4, 6))
        self.assertEqual([line["instruction"] for line in step.answer() if "number" in line], [0, 1])

    def test_memory_that_nothing_reads_is_assumed(self):
        step = Step()
        step.call("relu", [step.data(4, 6)], (4, 6))
        noise = step.call("randn", [[4, 2], 6, None, "@cpu", False], (4, 2))
        self.assertEqual(step.sizes(noise), [[8, 2]])
        self.assertIn({"instruction": 1, "assumed": True}, step.answer())

    def test_bags_have_as_many_more_indices(self):
        step = Step()
        offsets = step.data(4, dtype="int64", value={"rule": "offsets", "high": 11})
        indices = step.data(11, dtype="int64")
        step.call("embedding_bag.padding_idx", [step.data(9, 3), indices, offsets, False, 0, False, None, False, None],
                  (4, 3), step.tensor(11, dtype="int64"), step.tensor(4, dtype="int64"), step.tensor(4, dtype="int64"))
        self.assertEqual(step.sizes(indices), [[22]])

    def test_a_sparse_gradient_has_an_element_for_each_lookup(self):
        step = Step()
        lookups = step.data(4, dtype="int64")
        sparse = step.tensor(9, 3, sparse=True, strides=[])
        step.call("embedding_backward", [step.call("relu", [step.data(4, 3)], (4, 3)), lookups, 9, -1, False, True], sparse)
        where = step.call("_indices", [sparse], step.tensor(1, 4, dtype="int64"))
        values = step.call("_values", [sparse], (4, 3))
        self.assertEqual(step.sizes(where, values), [[1, 8], [8, 3]])

    def test_what_was_recorded_below_runs_in_place_of_an_unknown_operator(self):
        step = Step()
        x, y = step.data(4, 6), step.tensor(4, 6)
        step.call("mine::op(Tensor x) -> Tensor", [x], y)
        self.assertIn("no such operator", step.refused()["mine::op"])
        step.call("gelu", [x], y, depth=1)
        self.assertEqual(step.sizes(y), [[8, 6]])

    def test_views_of_the_same_data(self):
        step = Step()
        x = step.data(4, 6)
        turned = step.data(6, 4, strides=[1, 6])
        step.slots[-1]["storage"] = 0
        step.call("mm", [x, turned], (4, 4))
        self.assertEqual(step.sizes(turned), [[6, 8]])


class SizesTest(unittest.TestCase):
    def test_of_a_sequence(self):
        step = Step()
        x, mask = step.data(3, 4, 5), step.data(4, 4)
        scores = step.call("matmul", [x, step.call("transpose.int", [x, 1, 2], step.tensor(3, 5, 4, strides=[20, 1, 5]))], (3, 4, 4))
        masked = step.call(ADD, [scores, mask, 1], (3, 4, 4))
        rows = step.call("reshape", [step.call("matmul", [masked, x], (3, 4, 5)), [12, 5]], (12, 5))
        fewer = step.call("slice.Tensor", [x, 1, 0, -1, 1], step.tensor(3, 3, 5, strides=[20, 5, 1]))
        flat = step.call("reshape", [fewer, [9, 5]], (9, 5))
        self.assertEqual(step.sizes(masked, rows, fewer, flat, anywhere=True), [[3, 8, 8], [24, 5], [3, 7, 5], [21, 5]])


class RefusalTest(unittest.TestCase):
    def test_all_are_named(self):
        step = Step()
        x = step.data(4, 6)
        step.call(ADD, [x, step.call("mm", [step.data(5, 3), step.data(3, 6)], (4, 6)), 1], (4, 6))
        step.call("mine::op(Tensor x) -> Tensor", [x], (4, 6))
        self.assertEqual(list(step.refused()), ["aten::add.Tensor", "mine::op"])

    def test_parts_that_do_not_divide(self):
        step = Step()
        first, second = step.tensor(2, 6), step.tensor(2, 6, offset=12)
        step.call("split_with_sizes", [step.data(4, 6), [2, 2], 0], first, second)
        self.assertEqual(step.sizes(first), [[4, 6]])
        self.assertIn("no multiple", str(step.refused(last=5)))

    def test_sizes_of_no_data(self):
        step = Step()
        step.call("relu", [step.data(3, 4)], (3, 4))
        self.assertEqual(step.answer(), [{"known": [3]}])
        self.assertEqual(step.answer(first=7, anywhere=True), [{"known": [3, 4]}])

    def test_what_depends_on_data_keeps_its_size(self):
        step = Step()
        x, mask = step.data(4, 6), step.data(4, dtype="bool")
        chosen = step.call("index.Tensor", [x, [mask]], (3, 6))
        self.assertEqual(step.sizes(x, mask, chosen), [[8, 6], [8], [3, 6]])
        self.assertIn("kept", step.answer()[-1])



class Shared(Step):
    """A part of 12 elements on each of 2 ranks, which is gathered, and its gradient."""

    def __init__(self):
        super().__init__()
        self.part, self.whole, self.gradient = self.data(12), self.tensor(24), self.tensor(12)
        self.communicate("_allgather_base", self.part, self.whole)
        self.communicate("_reduce_scatter_base", self.whole, self.gradient)

    def answer(self, first=2, last=4, anywhere=True, parts=((0, 1), (2, 1))):
        return super().answer(first, last, anywhere, [list(pair) for pair in parts])

    def numbers(self):
        return [(line["instruction"], line["argument"], line["number"]) for line in self.answer() if "number" in line]

    def why_not(self, **how):
        return [line["refused"] for line in self.answer(**how)]


class PartsTest(unittest.TestCase):
    def test_what_is_combined_with_a_part_follows(self):
        step = Shared()
        moment, steps = step.data(12), step.data(1)
        step.call("lerp_.Scalar", [moment, step.gradient, 0.1], moment)
        root = step.call("div.Tensor", [step.call("sqrt", [moment], (12,)), steps], (12,))
        norm = step.call("sum", [step.call("pow.Tensor_Scalar", [step.gradient, 2], (12,)), None], ())
        step.call("addcdiv_", [step.part, moment, root, 1], step.part)
        for last, size in ((1, 24), (4, 6), (8, 3)):
            self.assertEqual(step.sizes(step.part, step.whole, step.gradient, moment, root, steps, norm, last=last),
                             [[size], [24], [size], [size], [size], [1], []])
        self.assertEqual(step.numbers(), [])

    def test_pieces_of_a_part_are_divided_whether_it_shrinks_or_grows(self):
        step = Shared()
        first, rest = step.tensor(4), step.tensor(8, offset=4)
        step.call("slice.Tensor", [step.part, 0, 0, 4, 1], first)
        step.call("slice.Tensor", [step.part, 0, 4, 12, 1], rest)
        square = step.call("as_strided", [step.part, [4, 2], [2, 1], 4], step.tensor(4, 2, offset=4))
        column = step.call("narrow", [square, 1, 0, 1], step.tensor(4, 1, strides=[2, 1], offset=4))
        for last, sizes in ((1, [[8], [16], [8, 2], [8, 1]]), (4, [[2], [4], [2, 2], [2, 1]])):
            self.assertEqual(step.sizes(first, rest, square, column, last=last), sizes)
        self.assertEqual(step.numbers(), [(2, 3, 2), (3, 2, 2), (3, 3, 6), (4, 1, 2), (4, 3, 2)])

    def test_a_place_in_the_group_moves_what_is_gathered_in_place(self):
        step = Shared()
        inputs, part = [step.data(4), step.data(8)], step.tensor(12, offset=12, storage=1)
        step.call("fsdp::all_gather_copy_in(Tensor[] all_gather_inputs, Tensor all_gather_output, SymInt[] inp_split_sizes, "
                  "SymInt all_gather_input_numel, SymInt rank) -> (Tensor, Tensor)", [inputs, step.whole, [4, 8], 12, 1], part, step.whole)
        told = step.answer(parts=[[5, 1]])
        self.assertEqual([(line["slot"], line["sizes"], line["offset"], line["step"]) for line in told if "slot" in line],
                         [(3, [2], 0, 0), (4, [4], 0, 0), (5, [6], 0, 6)])
        self.assertEqual([(line["argument"], line["number"], line["step"]) for line in told if "number" in line],
                         [(2, 2, 0), (2, 4, 0), (3, 6, 0), (4, 0, 1)])

    def test_what_is_sent_elsewhere_follows_in_equal_pairs(self):
        step = Shared()
        copy = step.tensor(12)
        step.communicate("allreduce", step.gradient, copy)
        self.assertEqual(step.sizes(copy), [[6]])
        step.communicate("_allgather_base", step.gradient, step.tensor(36))
        self.assertEqual(step.why_not(), ["with [36], which is no part"])

    def test_what_cannot_be_divided(self):
        step = Shared()
        self.assertEqual(step.answer(last=5), [{"slot": 0, "refused": "uneven"}])
        step.call("mine::quantize(Tensor x) -> Tensor", [step.gradient], (12,))
        step.call("stack", [[step.part, step.gradient], 0], (2, 12))
        self.assertEqual(step.why_not(), ["this LibTorch has no such operator", "[2, 12] would become [2, 6]"])


if __name__ == "__main__":
    unittest.main()
