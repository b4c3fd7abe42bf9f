"""Tests what a capture keeps of Triton's kernels, that it compiles ahead of time without a GPU, and
that fused kernels compute what a CPU replays for them.

Triton's interpreter runs the kernels on the CPU (TRITON_INTERPRET=1), in a process of its own: this
file with a folder as its argument. What it was called with is the reference for recorded launches,
what it computes the reference for the operator map's rows, which are called on the same tensors. A
launcher that launches nothing stands in for a GPU's.
"""

import collections
import gc
import gzip
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest
import weakref
from pathlib import Path
from typing import Optional

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "capture"))
try:
    import triton
    import triton.language as tl
except ImportError:
    print("[  SKIPPED ] scripts.triton (no Triton)")
    sys.exit(0)
from understudy import triton_kernels  # noqa: E402

FACTOR: tl.constexpr = tl.constexpr(2.0)
TABLE = [1, 2]
ELEMENTS = 300


@triton.jit
def doubled(x):
    return x * FACTOR


@triton.jit
def scale(x_ptr, y_ptr, n, one, bias, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, doubled(x) + bias * one, mask=i < n)


@triton.jit
def normalise(y_ptr, x_ptr, weight_ptr, columns, epsilon, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = tl.program_id(0) * columns + i
    x = tl.load(x_ptr + at, mask=i < columns, other=0.0)
    weight = tl.load(weight_ptr + i, mask=i < columns)
    tl.store(y_ptr + at, x * tl.rsqrt(tl.sum(x * x) / columns + epsilon) * weight, mask=i < columns)


@triton.jit
def add_and_normalise(x_ptr, residual_ptr, weight_ptr, columns, epsilon, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = tl.program_id(0) * columns + i
    x = tl.load(x_ptr + at, mask=i < columns, other=0.0)
    x += tl.load(residual_ptr + at, mask=i < columns, other=0.0)
    weight = tl.load(weight_ptr + i, mask=i < columns)
    tl.store(residual_ptr + at, x, mask=i < columns)
    tl.store(x_ptr + at, x * tl.rsqrt(tl.sum(x * x) / columns + epsilon) * weight, mask=i < columns)


@triton.jit
def gate(y_ptr, x_ptr, columns, BLOCK: tl.constexpr):
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    at = tl.program_id(0) * columns * 2 + i
    x = tl.load(x_ptr + at, mask=i < columns)
    y = x / (1 + tl.exp(-x)) * tl.load(x_ptr + at + columns, mask=i < columns)
    tl.store(y_ptr + tl.program_id(0) * columns + i, y, mask=i < columns)


@triton.jit
def of_a_table(x_ptr):
    tl.store(x_ptr, TABLE[0])


def named_tuple(**fields):
    """As Triton holds metadata."""
    return collections.namedtuple("Metadata", fields)(**fields)


def launch_scale(x, y):
    scale[lambda given: (triton.cdiv(ELEMENTS, given["BLOCK"]),)](
        x, y, ELEMENTS, 1, 0.5, BLOCK=128, num_warps=2)


ROWS, COLUMNS = 3, 100
BY_COLUMN = (1.0 + torch.arange(COLUMNS) / COLUMNS)


def of_rows(first):
    return torch.sin(first + torch.arange(ROWS * COLUMNS).float()).reshape(ROWS, COLUMNS)


# Operator of another library → what launches a Triton kernel for it, and its arguments.
FUSED = {
    "_C::rms_norm": (
        lambda result, x, weight, epsilon:
            normalise[(ROWS,)](result, x, weight, COLUMNS, epsilon, BLOCK=128),
        lambda: [torch.zeros(ROWS, COLUMNS), of_rows(1), BY_COLUMN, 1e-5]),
    "_C::fused_add_rms_norm": (
        lambda x, residual, weight, epsilon:
            add_and_normalise[(ROWS,)](x, residual, weight, COLUMNS, epsilon, BLOCK=128),
        lambda: [of_rows(2), of_rows(3), BY_COLUMN, 1e-5]),
    "_C::silu_and_mul": (
        lambda result, x: gate[(ROWS, triton.cdiv(COLUMNS, 64))](result, x, COLUMNS, BLOCK=64),
        lambda: [torch.zeros(ROWS, COLUMNS), torch.cat([of_rows(4), of_rows(5)], 1)])}


def mapped(operator):
    """The schema, and the function that replays an operator on a CPU, as the operator map has them."""
    operators = json.loads((ROOT / "et_schema/facts/src/known_operators.json").read_text())
    row = next(row for row in operators["rows"] if operator in row["operators"])
    takes = [parameter.split("|")[0].split() for parameter in row["takes"]]
    types = {"Tensor?": "Optional[Tensor]"}
    lines = [f"def row({', '.join(f'{name}: {types.get(kind, kind)}' for kind, name in takes)}):"]
    lines += [f"  {line}" for line in row["does"]]
    unit = torch.jit.CompilationUnit()
    # As in the replay, `torch` is ATen.
    unit.define("\n".join([*lines, ""]), rcb={"torch": torch.ops.aten, "Optional": Optional}.get)
    return row["schemas"][0], unit.row


def define_fused(library):
    """The operators, and what calls one on new tensors: its arguments afterwards."""
    for operator, (launch, _) in FUSED.items():
        schema, _ = mapped(operator)
        for letter in "abc":  # the map writes Tensor! for what a schema calls Tensor(a!)
            schema = schema.replace("Tensor! ", f"Tensor({letter}!) ", 1)
        library.define(operator.removeprefix("_C::") + schema)
        library.impl(operator.removeprefix("_C::"), launch, "CPU")

    def call(operator, function):
        arguments = FUSED[operator][1]()
        function(*arguments)
        return arguments
    return {operator: lambda operator=operator: call(operator, getattr(torch.ops._C, operator[4:]))
            for operator in FUSED}, call


class Interpreted:
    """What the interpreter was called with, by kernel, for its latest call."""

    def __init__(self):
        from triton.runtime import interpreter
        self.calls = {}
        run, set_grid = interpreter.GridExecutor.__call__, interpreter.interpreter_builder.set_grid_dim

        def note_call(executor, *args, **kwargs):
            names = dict(zip(executor.arg_names, args)) | kwargs
            self.latest = self.calls[executor.fn.__name__] = {"arguments": [
                list(value.shape) if isinstance(value, torch.Tensor) else value
                for name, value in names.items() if name in executor.arg_names
                and name not in executor.constexprs]}
            return run(executor, *args, **kwargs)

        def note_grid(*grid):
            self.latest["grid"] = grid
            return set_grid(*grid)
        interpreter.GridExecutor.__call__ = note_call
        interpreter.interpreter_builder.set_grid_dim = note_grid


def compiled_model():
    """A model whose Triton kernel inductor generates for the CPU, and the same eagerly."""
    import torch._inductor.config
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver
    torch._inductor.config.cpu_backend = "triton"
    torch._inductor.config.compile_threads = 1
    driver.set_active(types.SimpleNamespace(
        get_current_target=lambda: GPUTarget("cuda", 90, 32), get_current_device=lambda: 0,
        get_active_torch_device=lambda: torch.device("cpu")))

    def model(x):
        return torch.relu(x) * 2 + x
    return torch.compile(model), model


def capture_into(folder):
    """Run under the interpreter: a step with a kernel of inductor's and hand-written ones."""
    from understudy import recorder
    compiled, model = compiled_model()
    x, y = torch.randn(ELEMENTS), torch.zeros(ELEMENTS)
    library = torch.library.Library("_C", "FRAGMENT")
    fused, call = define_fused(library)
    interpreted = Interpreted()
    with recorder.Capture(folder, warmup=2, timed=1, profiled=1, count_faults=False) as running:
        while not running.done:
            z = compiled(x)
            launch_scale(z, y)
            computed = {operator: function() for operator, function in fused.items()}
            running.step()
    torch.testing.assert_close(z, model(x))
    torch.testing.assert_close(y, 2 * z + 0.5)
    for operator, arguments in computed.items():
        torch.testing.assert_close(arguments, call(operator, mapped(operator)[1]))
    (folder / "interpreted.json").write_text(json.dumps(interpreted.calls))


def capture_hand_written_into(folder):
    """Likewise, a step without a compiled graph."""
    from understudy import recorder
    x, y = torch.randn(ELEMENTS), torch.zeros(ELEMENTS)
    recorder.capture_step(lambda: launch_scale(x, y), folder, warmup=1, timed=1, profiled=1, count_faults=False, steady_s=0)


def read(path):
    return json.loads(gzip.decompress(path.read_bytes()))


def compile_kernels(*arguments):
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    return subprocess.run([sys.executable, "-I", str(ROOT / "capture/understudy/start.py"), "kernel_compiler", *arguments],
                          capture_output=True, text=True, env=environment)


class CaptureTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory())) / "capture"
        subprocess.run([sys.executable, __file__, str(cls.folder)], check=True,
                       env={**os.environ, "TRITON_INTERPRET": "1"}, stderr=subprocess.DEVNULL)
        cls.document = read(cls.folder / "rank-0.compiled.json.gz")
        cls.kernels = {kernel["key"]: kernel for kernel in cls.document["triton"]}
        cls.nodes = [node for node in read(cls.folder / "rank-0.et.json.gz")["nodes"]
                     if {"name": "kernel_backend", "type": "string", "value": "triton"}
                     in node["attrs"]]

    def test_each_launch_is_one_node_whose_kernel_is_kept(self):
        self.assertEqual(len(self.nodes), 5)
        self.assertEqual(len(self.kernels), 5)
        self.assertEqual(self.document["triton_left_out"], {})
        for node in self.nodes:
            word, key, *grid = node["inputs"]["values"][-1].split()
            self.assertEqual(word, "launch")
            self.assertEqual(len(grid), 3)
            kernel = self.kernels[key]
            self.assertEqual(kernel["name"], node["name"])
            self.assertEqual(kernel["launches"], 1)
            passed = [kind for kind in kernel["signature"].values() if kind != "constexpr"]
            *values, roles, _ = node["inputs"]["values"]
            self.assertEqual(len(values), len(passed))
            self.assertEqual(["*" if role != "-" else "" for role in roles.split()],
                             [kind[0] if kind[0] == "*" else "" for kind in passed])

    def test_a_step_whose_only_kernels_are_hand_written_keeps_their_launches(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, __file__, folder, "hand-written"], check=True,
                           env={**os.environ, "TRITON_INTERPRET": "1"}, stderr=subprocess.DEVNULL)
            [kernel] = read(Path(folder) / "rank-0.compiled.json.gz")["triton"]
            launches = [node["inputs"]["values"][-1] for node in read(Path(folder) / "rank-0.et.json.gz")["nodes"]
                        if node["name"] == "scale"]
        self.assertEqual(launches, [f"launch {kernel['key']} 3 1 1"])

    def test_a_hand_written_kernel_shows_its_arguments_and_grid(self):
        node = next(node for node in self.nodes if node["name"] == "scale")
        x, y, n, bias, roles, launch = node["inputs"]["values"]
        self.assertEqual((n, bias), (ELEMENTS, 0.5))  # 1 is a constant
        self.assertEqual(launch.split()[2:], ["3", "1", "1"])
        kernel = self.kernels[launch.split()[1]]
        self.assertEqual(kernel["constants"], {"one": 1, "BLOCK": 128})
        self.assertEqual(kernel["options"], {"num_ctas": 1, "num_stages": 3, "num_warps": 2})

    def test_a_kernel_of_inductors_reads_and_writes_what_it_says(self):
        node = next(node for node in self.nodes if node["name"].startswith("triton_"))
        *_, roles, launch = node["inputs"]["values"]
        self.assertEqual(roles, "r w -")
        block = self.kernels[launch.split()[1]]["constants"]["XBLOCK"]
        self.assertEqual(launch.split()[2:], [str(-(-ELEMENTS // block)), "1", "1"])

    def test_a_launch_is_recorded_as_the_interpreter_ran_it(self):
        calls = json.loads((self.folder / "interpreted.json").read_text())
        for name in ("normalise", "add_and_normalise", "gate"):
            node, = [node for node in self.nodes if node["name"] == name]
            *values, _, launch = node["inputs"]["values"]
            shapes = node["inputs"]["shapes"]
            recorded = [shape if isinstance(value, list) else value
                        for value, shape in zip(values, shapes)]
            with self.subTest(kernel=name):
                self.assertEqual(len(recorded), len(calls[name]["arguments"]))
                for ours, theirs in zip(recorded, calls[name]["arguments"]):
                    self.assertEqual(ours if isinstance(ours, list) else round(ours, 6), theirs)
                self.assertEqual([int(blocks) for blocks in launch.split()[2:]], calls[name]["grid"])

    def test_a_cpu_replays_what_the_kernels_fuse(self):
        programs = ROOT / "build" / "release" / "bin"
        if not (programs / "replay").exists():
            self.skipTest("replay is not built")
        bench, report = self.folder / "b.et", self.folder / "report.json"
        for words in ([programs / "generate", self.folder, "-o", bench, "-q"],
                      [programs / "replay", bench, "--iterations", "1", "--warmup", "0",
                       "--report", report, "-q"]):
            done = subprocess.run(words, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = json.loads(report.read_text())
        self.assertEqual(found["output_mismatches"], 0)
        by = {row["name"]: row["note"] for row in found["coverage"]["substituted"]}
        self.assertEqual(by, {
            "_C::rms_norm": "the operator map: aten::rms_norm",
            "_C::fused_add_rms_norm": "the operator map: aten::rms_norm",
            "_C::silu_and_mul": "the operator map: aten::mul"})

    def test_kernels_compile_for_gpus_that_are_not_there(self):
        with tempfile.TemporaryDirectory() as folder:
            some = sorted(key for key, kernel in self.kernels.items()
                          if kernel["name"] == "scale" or kernel["name"].startswith("triton_"))
            keys = Path(folder) / "keys"
            keys.write_text("\n".join(some))
            end = compile_kernels(str(self.folder / "rank-0.compiled.json.gz"), "--architectures",
                                  "sm_90,sm_80,sm_100", "--keys", str(keys), "--output", folder)
            self.assertEqual((end.returncode, end.stderr), (0, ""))
            result = json.loads((Path(folder) / "kernels.json").read_text())
            self.assertEqual(result["failures"], [])
            self.assertEqual([kernel["key"] for kernel in result["kernels"]], some)
            for kernel in result["kernels"]:
                self.assertEqual([build["architecture"] for build in kernel["builds"]], [80, 90, 100])
                for build in kernel["builds"]:
                    code = (Path(folder) / build["cubin"]).read_bytes()
                    self.assertTrue(code.startswith(b"\x7fELF"))
                    for secret in (kernel["name"], str(ROOT), folder, "doubled"):
                        self.assertNotIn(secret.encode(), code)
                    self.assertEqual(build["function"], "kernel")


class LaunchTest(unittest.TestCase):
    """Without the interpreter: a launcher that launches nothing stands in for a GPU's."""

    def setUp(self):
        self.launches = triton_kernels.Launches()
        self.calls = []
        cubin = types.SimpleNamespace(
            asm={"cubin": b"\x7fELFcode"},
            metadata=named_tuple(
                target=types.SimpleNamespace(arch=90), num_warps=2, num_ctas=1, shared=64,
                global_scratch_size=0, profile_scratch_size=0, launch_cooperative_grid=False,
                launch_pdl=False, name="scale"))
        owner = triton.runtime.jit.JITFunction
        run = owner.run
        self.addCleanup(setattr, owner, "run", run)

        def launcher(function, *args, grid, warmup, **kwargs):
            self.calls.append((function.__name__, args, kwargs))
            return cubin
        owner.run = launcher

    def launch(self, **options):
        x, y = torch.zeros(ELEMENTS), torch.zeros(ELEMENTS)
        with triton_kernels.TritonLabels(launches=self.launches, **options), \
                torch.profiler.profile() as profile:
            launch_scale(x, y)
        return [event.name for event in profile.events()]

    def test_the_launch_is_labelled_and_goes_on(self):
        self.assertIn("scale", self.launch())
        name, args, kwargs = self.calls[0]
        self.assertEqual((name, len(args), kwargs), ("scale", 5, {"BLOCK": 128, "num_warps": 2}))

    def test_what_ran_on_a_gpu_is_kept(self):
        self.launch()
        kernel, = self.launches.document()["triton"]
        self.assertEqual(kernel["architecture"], "sm_90")
        self.assertEqual(kernel["metadata"]["shared"], 64)
        self.assertEqual(kernel["cubin"], "f0VMRmNvZGU=")

    def test_timed_steps_have_labels_and_keep_nothing(self):
        self.assertIn("scale", self.launch(describes=False))
        self.assertEqual(self.launches.document(), {"triton": [], "triton_left_out": {}})

    def test_what_a_kernel_writes_is_told_by_its_ir(self):
        x = torch.zeros(ELEMENTS)
        _, signature, constants, attributes, _ = triton_kernels.specialised(
            scale, (x, x, ELEMENTS, 1, 0.5), {"BLOCK": 128})
        self.assertEqual(triton_kernels.mutated(scale, signature, constants, attributes, "test"),
                         ["y_ptr"])

    def test_afterwards_nothing_is_labelled(self):
        before = triton.runtime.jit.JITFunction.run
        self.launch()
        self.assertIs(triton.runtime.jit.JITFunction.run, before)

    def test_no_kernel_takes_the_place_of_one_that_the_program_freed(self):
        kernel, x = triton.jit(gate.fn), torch.zeros(ROWS, COLUMNS)
        with triton_kernels.TritonLabels(launches=self.launches):
            kernel[(1,)](x, x, COLUMNS, BLOCK=128)
        left = weakref.ref(kernel)
        del kernel
        gc.collect()
        self.assertIsNotNone(left())

    def test_a_kernel_with_an_unknown_global_is_left_out(self):
        with triton_kernels.TritonLabels(launches=self.launches):
            of_a_table[(1,)](torch.zeros(1, dtype=torch.int32))
        self.assertEqual(self.launches.document(), {
            "triton": [], "triton_left_out": {"a global TABLE of type list": 1}})
        self.assertEqual(len(self.calls), 1)

    def test_a_kernel_for_newer_gpus_alone_is_kept(self):
        x = torch.zeros(ELEMENTS)
        with triton_kernels.TritonLabels(launches=self.launches):
            scale[(1,)](x, x, ELEMENTS, 1, 0.5, BLOCK=128, num_ctas=2)
        kernel, = self.launches.document()["triton"]
        self.assertEqual(kernel["options"]["num_ctas"], 2)

    def test_what_cannot_be_described_is_launched_and_counted(self):
        with triton_kernels.TritonLabels(launches=self.launches):
            launch = triton_kernels.SPECIALISED_FOR
            self.addCleanup(setattr, triton_kernels, "SPECIALISED_FOR", launch)
            triton_kernels.SPECIALISED_FOR = 80
            scale[(1,)](torch.zeros(1), torch.zeros(1), 1, 1, 0.5, BLOCK=128, num_ctas=2)
        (why, count), = self.launches.document()["triton_left_out"].items()
        self.assertTrue(why.startswith("ValueError: num_ctas > 1 requires"), why)
        self.assertEqual((count, len(self.calls)), (1, 1))

    def test_the_same_kernel_has_the_same_key(self):
        self.launch()
        other = triton_kernels.Launches()
        self.launches, kept = other, self.launches
        self.launch()
        self.assertEqual(list(other.kernels), list(kept.kernels))


class RefusalTest(unittest.TestCase):
    def refused(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rank-0.compiled.json"
            path.write_text(text)
            end = compile_kernels(str(path), "--architectures", "sm_90", "--output", folder)
            return end.returncode, end.stderr.replace(str(path), "FILE").strip()

    def test_another_version(self):
        self.assertEqual(self.refused('{"format":"understudy-compiled","version":2}'), (
            65, "compile_kernels: FILE: expected understudy-compiled of version 1, got "
                "ValueError: understudy-compiled, version 2"))

    def test_no_json(self):
        status, text = self.refused("{")
        self.assertEqual(status, 65)
        self.assertIn("JSONDecodeError", text)

    def test_a_source_that_does_not_compile_is_a_failure_of_that_kernel(self):
        kernel = {"key": "0" * 16, "name": "broken", "source": "import nothing_of_this_name",
                  "signature": {"x": "*fp32"}, "constants": {}, "attributes": {}, "options": {}}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rank-0.compiled.json"
            path.write_text(json.dumps({"format": "understudy-compiled", "version": 1,
                                        "triton": [kernel]}))
            end = compile_kernels(str(path), "--architectures", "sm_90", "--output", folder)
            self.assertEqual(end.returncode, 0)
            result = json.loads((Path(folder) / "kernels.json").read_text())
        self.assertEqual(result["kernels"], [])
        self.assertEqual(result["failures"], [
            {"key": "0" * 16, "name": "broken", "architecture": 90,
             "why": "ModuleNotFoundError: No module named 'nothing_of_this_name'"}])


if __name__ == "__main__":
    if len(sys.argv) >= 2 and Path(sys.argv[1]).is_absolute():
        (capture_into if len(sys.argv) == 2 else capture_hand_written_into)(Path(sys.argv[1]))
    else:
        unittest.main()
