"""Tests a capture with torch.compile: the program continues, and its kernels are seen."""

import gzip
import json
import sys
import tempfile
import unittest
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "capture"))
from understudy import compiled, recorder  # noqa: E402

SIGNATURE = ('extern "C"  void  kernel(float* in_out_ptr0,\n  const float* in_ptr0,\n'
             '  float* out_ptr0,\n  const int64_t ks0)\n{')


def read(path):
    return json.loads(gzip.decompress(path.read_bytes()))


class Factor(torch.nn.Module):
    """A large tensor that no operator uses, only the kernel into which it is fused."""
    BYTES = 8 << 20

    def __init__(self):
        super().__init__()
        self.register_buffer("large", torch.ones(self.BYTES // 4))

    def forward(self, rows):
        return rows * self.large.sum()


def capture(folder, **options):
    """A compiled layer in training: an eager embedding, one compiled region per step."""
    torch.manual_seed(1)
    table = torch.nn.Embedding(20, 8)
    layer = torch.compile(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), Factor()))
    rows = torch.tensor([1, 2, 1, 5])
    with recorder.Capture(folder, warmup=2, timed=1, profiled=1, count_faults=False,
                          **options) as running:
        while not running.done:
            layer(table(rows)).sum().backward()
            running.step()
    return running


class RolesTest(unittest.TestCase):
    def test_are_told_by_types_and_names(self):
        self.assertEqual(
            compiled.argument_roles(["float*", "const float*", "float*", "const int64_t"],
                                    SIGNATURE), ["rw", "r", "w", "-"])

    def test_without_a_signature_written_tensors_count_as_written(self):
        self.assertEqual(compiled.argument_roles(["float*", "const float*"], ""), ["w", "r"])


class CompiledCaptureTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if " " in torch.__file__:
            # GoogleTest uses these words, and scripts/test looks for them.
            print("[  SKIPPED ] scripts.compiled (torch.compile links no library under a path with a space)")
            raise unittest.SkipTest("torch.compile links no library under a path with a space")
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.running = capture(cls.folder)
        cls.rank = json.loads((cls.folder / "capture.json").read_text())["ranks"][0]

    def test_regions_run_in_the_step_of_indices_and_after_it(self):
        self.assertEqual(self.rank["compiled_regions"], {"et": 1, "kineto_only": 1})
        self.assertGreaterEqual(self.rank["compiled_graphs"], 2)
        self.assertEqual(self.running.notices, [])

    def test_what_a_kernel_alone_meets_is_not_untouched(self):
        self.assertLess(self.rank["untouched_tensor_bytes"].get("cpu", 0), Factor.BYTES)

    def test_index_values_of_what_runs_eagerly_are_recorded(self):
        uses = read(self.folder / "rank-0.indices.json.gz")["uses"]
        self.assertIn("aten::embedding", [use["op"] for use in uses])

    def test_a_kernel_is_a_node_with_its_tensors_their_roles_and_its_file(self):
        kernels = [node for node in read(self.folder / "rank-0.et.json.gz")["nodes"]
                   if node["name"].startswith("cpp_fused")]
        self.assertGreaterEqual(len(kernels), 2)  # forward and backward
        files = {Path(module.__file__).name: compiled.cpp_kernels(module.__file__)
                 for module in compiled.graph_modules()}
        for node in kernels:
            backend = [a["value"] for a in node["attrs"] if a["name"] == "kernel_backend"]
            self.assertEqual(backend, ["cpp"])
            *tensors, roles, file = node["inputs"]["values"]
            self.assertEqual(len(roles.split()), len(tensors))
            self.assertEqual(" ".join(files[file][node["name"]]), roles)

    def test_profiles_show_the_kernels(self):
        names = [event.get("name", "")
                 for event in read(self.folder / "rank-0.kineto_only.json.gz")["traceEvents"]]
        self.assertGreaterEqual(sum(name.startswith("cpp_fused") for name in names), 2)

    def test_after_a_step_nothing_is_labelled(self):
        for module in compiled.graph_modules():
            for name in compiled.cpp_kernels(module.__file__):
                self.assertFalse(hasattr(getattr(module, name), "understudy_kernel"))

    def test_without_a_launch_of_triton_nothing_is_kept_of_kernels(self):
        self.assertFalse((self.folder / "rank-0.compiled.json.gz").exists())

    def test_a_trace_of_other_regions_is_told(self):
        running = recorder.Capture(self.folder / "other")
        running._records.regions = {"kineto_only": 5, "et": 0}
        running._finish_compiled()
        self.assertEqual(running.notices, [
            "the profiled steps have 5 compiled regions each and the traced one 0: not the same "
            "work, generate will not take it as such"])


if __name__ == "__main__":
    unittest.main()
