"""Tests what operator_results.py says of calls: against the kernels of this CPU, and against what GPUs' kernels document."""

import json
import os
import struct
import subprocess
import sys
import unittest
from pathlib import Path

import torch

HELPER = Path(__file__).resolve().parents[2] / "capture" / "understudy" / "operator_results.py"
sys.path.append(str(HELPER.parent))
import operator_results  # noqa: E402

RULES = operator_results.load()
F = torch.float32
ROWS = torch.zeros(2, 8, 6, 6)
CHANNELS_LAST = ROWS.to(memory_format=torch.channels_last)
HEADS = torch.zeros(2, 16, 4, 8).transpose(1, 2)


class Calls:
    """A program's text of calls. `device`: of all tensors."""

    def __init__(self, device="cpu"):
        self.device, self.schemas, self.slots, self.instructions, self.rows = device, [], [], [], []

    def written(self, value):
        if isinstance(value, torch.Tensor):
            number = len(self.slots)
            layout = {"sparse": True} if value.layout != torch.strided else {"strides": value.stride()}
            self.slots.append({"slot": number, "storage": number, "dtype": str(value.dtype)[6:], "sizes": value.shape, **layout})
            return f"%{number}"
        if isinstance(value, (list, tuple)):
            return [self.written(item) for item in value]
        return "'" + value if isinstance(value, str) and not value.startswith(("@", "undefined")) else value

    def add(self, schema, *arguments):
        self.schemas.append({"schema": len(self.schemas), "text": schema})
        self.instructions.append({"i": len(self.instructions), "op": schema.partition("(")[0], "node": 0, "schema": len(self.schemas) - 1,
                                  "args": [self.written(value) for value in arguments]})
        return self

    def text(self):
        storages = [{"storage": number, "device": self.device, "bytes": 0} for number in range(len(self.slots))]
        return "\n".join(json.dumps(line) for line in [{}, *self.schemas, *storages, *self.slots, *self.instructions, *self.rows])

    def answers(self):
        program = operator_results.Program(self.text(), is_filtered=True)
        with torch.no_grad(), torch._C._AutoDispatchBelowAutograd():
            return [program.answer(number) for number in range(len(program.instructions))]


def schema_of(operator):
    name, _, overload = operator.partition(".")
    return str(getattr(getattr(torch.ops.aten, name), overload or "default")._schema)


def answer(operator, *arguments, device="cpu"):
    return Calls(device).add(schema_of(operator), *arguments).answers()[0]


def layouts(told):
    return [(tensor["dtype"], tensor["sizes"], tensor["strides"]) for tensor in told["tensors"]]


class KernelsOfThisCpuTest(unittest.TestCase):
    def check(self, operator, *arguments):
        name, _, overload = operator.partition(".")
        function = getattr(getattr(torch.ops.aten, name), overload or "default")
        required = len([one for one in function._schema.arguments if not one.kwarg_only])
        named = {one.name: value for one, value in zip(function._schema.arguments[required:], arguments[required:])}
        with torch.no_grad(), torch._C._AutoDispatchBelowAutograd():
            results = function(*arguments[:required], **named)
        results = results if isinstance(results, (tuple, list)) else [results]
        wanted = [("undefined", [], []) if result is None else (str(result.dtype)[6:], list(result.shape), list(result.stride()))
                  for result in results if result is None or isinstance(result, torch.Tensor)]
        self.assertEqual(layouts(answer(operator, *arguments)), wanted, operator)

    def test_of_elements(self):
        for data in (torch.zeros(4, 5, 6), torch.zeros(6, 5, 4).permute(2, 1, 0)):
            for operator in ("relu", "abs", "max", "log_sigmoid_forward", "logical_not"):
                self.check(operator, data)
            self.check("flip", data, [1])
            self.check("var.correction", data, [1])
            self.check("where.self", torch.zeros(1, dtype=torch.bool), data, torch.zeros(1))
            self.check("roll", data, [2], [1])
            self.check("mse_loss_backward", torch.zeros(()), data, data, 1)
            self.check("index_select", data, 1, torch.zeros(3, dtype=torch.int64))
            self.check("kthvalue", data, 2)
            self.check("_fft_r2c", data, [1, 2], 0, True)

    def test_of_planes(self):
        weight, channels = torch.zeros(4, 4, 3, 3), torch.zeros(8)
        window = [[2, 2], [1, 1], [1, 1]]
        for data in (ROWS, CHANNELS_LAST):
            self.check("convolution", data, weight, None, *window, False, [0, 0], 2)
            self.check("convolution", data, torch.zeros(8, 4, 3, 3), None, *window, True, [1, 1], 1)
            self.check("conv2d", data, torch.zeros(4, 8, 1, 1), None, [1, 1], [0, 0], [1, 1], 1)
            self.check("native_batch_norm", data, channels, channels, channels, channels, True, 0.1, 1e-5)
            self.check("native_group_norm", data, channels, channels, 2, 8, 36, 4, 1e-5)
            self.check("max_pool2d_with_indices", data, [2, 2])
        self.check("convolution_backward", torch.zeros(2, 4, 6, 6).to(memory_format=torch.channels_last), ROWS, torch.zeros(4, 8, 1, 1), [4],
                   [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, True])

    def test_of_rows(self):
        data, weight, numbers = torch.zeros(3, 4, 10), torch.zeros(10), torch.zeros(3, 4, 1)
        self.check("native_layer_norm", data, [10], weight, None, 1e-5)
        self.check("native_layer_norm_backward", data, data, [10], numbers, numbers, weight, weight, [True, True, True])
        table, indices = torch.zeros(7, 5), torch.zeros(6, dtype=torch.int64)
        self.check("embedding", table, indices.view(2, 3))
        self.check("_embedding_bag", table, indices, torch.tensor([0, 4]))
        self.check("_ctc_loss_backward", torch.zeros(2), torch.zeros(8, 2, 6), torch.zeros(2, 3, dtype=torch.int64), [8, 8], [3, 3],
                   torch.zeros(2), torch.zeros(2, 8, 7), 0)

    def test_of_attention(self):
        for query in (HEADS, HEADS.contiguous()):
            self.check("scaled_dot_product_attention", query, query, query, None, 0.0, True)
            self.check("scaled_dot_product_attention", query, query, torch.zeros(2, 4, 16, 6))


class GpuTest(unittest.TestCase):
    def test_attention(self):
        half = HEADS.to(torch.bfloat16)
        flash = answer("_scaled_dot_product_flash_attention", half, half, half, 0.0, True, device="cuda:0")
        self.assertEqual(layouts(flash)[:2], [("bfloat16", [2, 4, 16, 8], [512, 8, 32, 1]), ("float32", [2, 4, 16], [64, 16, 1])])
        for query, mask, strides in ((half, None, [512, 8, 32, 1]), (half.contiguous(), None, [512, 128, 8, 1]),
                                     (HEADS.contiguous(), None, [512, 8, 32, 1]), (half.contiguous(), torch.zeros(16, 16), [512, 8, 32, 1]),
                                     (HEADS.contiguous().double(), None, [512, 128, 8, 1])):
            told = answer("scaled_dot_product_attention", query, query, query, mask, device="cuda:0")
            self.assertEqual(layouts(told)[0][2], strides)

    def test_libraries_of_convolutions(self):
        for operator, size in (("cudnn_convolution", 6), ("cudnn_convolution_transpose", 6)):
            more = [[0, 0]] if "transpose" in operator else []
            told = answer(operator, CHANNELS_LAST, torch.zeros(8, 8, 1, 1), [0, 0], *more, [1, 1], [1, 1], 1, False, False, True,
                          device="cuda:0")
            self.assertEqual(layouts(told), [("float32", [2, 8, size, size], [288, 1, 48, 8])])

    def test_statistics_of_halves_are_floats(self):
        told = answer("native_layer_norm", torch.zeros(2, 3, dtype=torch.bfloat16), [3], None, None, 1e-5, device="cuda:0")
        self.assertEqual(layouts(told), [("bfloat16", [2, 3], [3, 1]), ("float32", [2, 1], [1, 1]), ("float32", [2, 1], [1, 1])])
        kept = answer("log_sigmoid_forward", torch.zeros(4), device="cuda:0")
        self.assertEqual(layouts(kept)[1], ("float32", [0], [1]))


class CallsTest(unittest.TestCase):
    def test_numbers_do_not_decide_dtypes(self):
        told = answer("add.Tensor", torch.zeros(2, dtype=torch.float16), torch.zeros((), dtype=torch.float64))
        self.assertEqual(layouts(told), [("float16", [2], [1])])

    def test_views_and_written_arguments(self):
        data = torch.zeros(3, 4).t()
        (part,) = answer("select.int", data, 1, 2)["tensors"]
        self.assertEqual((part["storage_of"], part["offset_from"], "same_as" in part), (0, 8, False))
        (sum_,) = answer("add_.Tensor", data, data)["tensors"]
        self.assertEqual((sum_["storage_of"], sum_["same_as"]), (0, 0))
        for offset in (1, None):
            (told,) = answer("as_strided", torch.zeros(8), [2], [3], offset)["tensors"]
            self.assertEqual((told["offset_from"], told.get("offset_is_absolute", False)), (offset or 0, offset is not None))
        parts = answer("split.Tensor", torch.zeros(5), 2)
        self.assertEqual((parts["list_sizes"], [one["offset_from"] for one in parts["tensors"]]), ([3], [0, 2, 4]))

    def test_copies_to_another_device_are_new(self):
        for device, is_new in (("@cuda:0", True), ("@cpu", False)):
            (told,) = answer("to.dtype_layout", torch.zeros(2), None, None, device, None, False, False, None)["tensors"]
            self.assertEqual("storage_of" not in told, is_new)

    def test_enumerations_are_checked(self):
        self.assertEqual(layouts(answer("to.dtype", torch.zeros(2), 15)), [("bfloat16", [2], [1])])
        refused = answer("to.dtype", torch.zeros(2), 99)
        self.assertEqual((refused["why_not"], refused["fails"]),
                         ("an argument of type ScalarType cannot be made from the recorded integer 99", True))

    def test_what_is_not_known(self):
        unknown = {"nonzero": [torch.zeros(4)], "bincount": [torch.zeros(4, dtype=torch.int64)], "item": [torch.zeros(())],
                   "index.Tensor": [torch.zeros(4), [torch.zeros(4, dtype=torch.bool)]]}
        for operator, arguments in unknown.items():
            told = answer(operator, *arguments)
            self.assertTrue(told.get("why_not") and not told["fails"], (operator, told))
        failing = answer("mm", torch.zeros(2, 3), torch.zeros(2, 3))
        self.assertTrue(failing["fails"] and "[2, 3] X [2, 3]" in failing["why_not"], failing)
        self.assertTrue(answer("einsum", "text1", [torch.zeros(2, 3)])["fails"])

    def test_what_is_not_called(self):
        calls = Calls().add("mine::norm(Tensor x) -> Tensor", torch.zeros(2))
        calls.add("aten::relu(Tensor self, Tensor other) -> Tensor", torch.zeros(2), torch.zeros(2))
        calls.add("aten::einsum(Tensor[] tensors) -> Tensor", [torch.zeros(2, 2)])
        calls.add("aten::from_file(str filename) -> Tensor", "/etc/passwd")
        calls.rows.append({"of": 3, "why_not": "it opens the file that an argument names"})
        self.assertEqual([told["why_not"] for told in calls.answers()],
                         ["this LibTorch has no such operator", "its recorded tensor 'other' has no place in today's schema",
                          "this PyTorch's operator is another one", "it opens the file that an argument names"])

    def test_functions_of_the_operator_map(self):
        source = "def row(x: Tensor, scale: float) -> Tensor:\n  return torch.mm(x, x.t()) * scale\n"
        calls = Calls().add("mine::norm(Tensor x, int scale) -> Tensor", torch.zeros(2, 3), 1)
        calls.rows.append({"of": 0, "function": source, "takes": [[0, "Tensor"], [1, "float"]]})
        self.assertEqual(layouts(calls.answers()[0]), [("float32", [2, 2], [2, 1])])
        calls.rows = [{"of": 0, "function": source}]
        self.assertEqual([schema.partition("(")[0] for schema in calls.answers()[0]["calls"]], ["aten::mm", "aten::mul.Scalar", "aten::t"])
        calls.rows = [{"of": 0, "function": source.replace("float)", "float = 2.0)")}]
        self.assertIn("default values", calls.answers()[0]["why_not"])

    def test_functions_see_layouts_alone(self):
        memory = "takes or makes a tensor with memory: only layouts are known (the meta device)"
        for body, why_not in (
                ("return x.reshape([2, 8])", None),  # of others, which are seen one by one
                ("return x + torch.full([1], 3)", None),
                ("return x * torch.tensor(3, device=x.device)", None),
                ("return x + int(torch.full([1], 3).sum())", "Tensor.item() cannot be called on meta tensors"),
                ("return x + torch.tensor([3])", "aten::empty.memory_format " + memory),
                ("return x + torch.tensor(3)", "aten::add.Tensor " + memory),
                ("y = torch.empty([40], device=torch.device('cpu'))\n  k: List[float] = y.tolist()\n  return x + k[0]",
                 "aten::empty.memory_format " + memory),
                ("return torch._reshape_alias(torch.ones([16]), [16], [1])", None),
                ("return torch._reshape_alias(torch.ones([16]), [4000], [1])", "aten::_reshape_alias reaches beyond the memory of a tensor"),
                ("return x + len('x'.rjust(10))", None),
                ("return x + len('x'.rjust(1000000000))", "a function takes more than 256 MiB to compile")):
            calls = Calls().add("mine::norm(Tensor x) -> Tensor", torch.zeros(4, 4))
            calls.rows.append({"of": 0, "function": f"def row(x: Tensor):\n  {body}\n", "takes": [[0, "Tensor"]]})
            self.assertEqual(calls.answers()[0].get("why_not"), why_not, body)


class ProcessTest(unittest.TestCase):
    """The program as it is started, with filters of system calls that allow all (tests/unit/cli) or are none."""

    def ask(self, text, filters=struct.pack("QHBBI", 8, 6, 0, 0, 0x7FFF0000)):  # BPF_RET, SECCOMP_RET_ALLOW
        files = [os.memfd_create(name) for name in ("calls", "answers", "filters")]
        calls, answers, _ = files
        os.write(calls, text.encode())
        os.write(files[2], filters)
        script = f"import ctypes, os; ctypes.CDLL(None).prctl(38, 1, 0, 0, 0); files = [os.dup(file) for file in {files}]; " \
                 "files = [os.dup2(os.dup2(file, 20 + to), to, True) for to, file in enumerate(files, 3)]; " \
                 f"os.execv({sys.executable!r}, [{sys.executable!r}, '-I', '-B', {str(HELPER.parent / 'start.py')!r}, 'operator_results'])"
        done = subprocess.run([sys.executable, "-c", script], input=b"?", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              pass_fds=files, check=True)
        self.said = done.stderr.decode().strip().rpartition("\n")[2]
        lines = os.pread(answers, 1 << 20, 0).decode().splitlines()
        return list(done.stdout), [json.loads(line) for line in lines]

    def test_a_kernel_that_ends_its_process(self):
        crash = f"def row(x: Tensor) -> Tensor:\n  return {'(' * 200000}x{')' * 200000}\n"
        calls = Calls().add(schema_of("relu"), torch.zeros(2)).add("mine::norm(Tensor x) -> Tensor", torch.zeros(2))
        calls.add(schema_of("relu"), torch.zeros(3))
        calls.rows.append({"of": 1, "function": crash, "takes": [[0, "Tensor"]]})
        statuses, told = self.ask(calls.text())
        self.assertEqual(statuses, [0, 0])
        self.assertEqual([tensor["tensors"][0]["sizes"] for tensor in (told[0], told[2])], [[2], [3]])
        self.assertEqual(told[1], {"why_not": "its kernel crashed (signal 11)"})

    def test_filters(self):
        calls = Calls().add(schema_of("relu"), torch.zeros(2)).add("mine::norm(Tensor x) -> Tensor", torch.zeros(2))
        calls.rows.append({"of": 1, "function": "def row(x: Tensor) -> Tensor:\n  return x + 1\n", "takes": [[0, "Tensor"]]})
        statuses, told = self.ask(calls.text())
        self.assertEqual((statuses, [layouts(one) for one in told]), ([0, 0], [[("float32", [2], [1])]] * 2))
        statuses, told = self.ask(calls.text(), b"")
        self.assertEqual((statuses, layouts(told[0]), told[1]["why_not"]), ([0, 0], [("float32", [2], [1])], "functions of operator maps are "
                         "called only below filters of system calls (seccomp), which this kernel lacks"))
        self.assertEqual(self.ask(calls.text(), struct.pack("QHBBI", 8, 99, 0, 0, 0)), ([0, operator_results.FAILED], []))
        self.assertEqual(self.said, "OSError: [Errno 22] a filter of system calls cannot be loaded")

    def test_what_is_no_program(self):
        self.assertEqual(self.ask("{}\nno JSON\n"), ([0, operator_results.FAILED], []))


if __name__ == "__main__":
    unittest.main()
