"""Tests captures on a card that is not there: what they record, and what they refuse (values: played_values_test.py)."""

import gzip
import json
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import zipfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "capture"), str(ROOT / "tests/played")]
import compare  # noqa: E402
from understudy import command  # noqa: E402

SCRIPT = """import torch, understudy
network = torch.nn.Linear(64, 64).to("cuda")
optimizer = torch.optim.AdamW(network.parameters())
for number in range(9):
    x = torch.randn(16, 64, device="cuda")
    loss = network(x).square().mean()
    {line}
    loss.backward(); optimizer.step(); optimizer.zero_grad()
    understudy.step()
"""
LSTM, MASK = "torch.nn.LSTM(64, 8).cuda()(x)", "torch.arange(16, device='cuda') > 3"
TRITON = ("import triton, triton.language as tl, linecache; source = '@triton.jit\\ndef twice(x, n: tl.constexpr):\\n    at = x + tl.arange(0, n)\\n    "
          "tl.store(at, tl.load(at) * 2)\\n'; linecache.cache['k.py'] = (len(source), None, source.splitlines(True), 'k.py'); scope = dict(triton=triton, tl=tl); "
          "exec(compile(source, 'k.py', 'exec'), scope); scope['twice'][(1,)](x, 64)")
GRAPH = ("side = torch.cuda.Stream(); side.wait_stream(torch.cuda.current_stream())\n    with torch.cuda.stream(side): y = x * 2\n    graph = torch.cuda.CUDAGraph()\n    "
         "with torch.cuda.graph(graph): y = x * 2\n    graph.replay()")
# A line of the script, which was refused before there was a driver → a kernel of its step.
RUNS = {
    f"x.data_ptr(); loss = loss + {LSTM}[0].sum()": "cudnn",
    "loss = loss + torch.compile(network)(x).relu().sum()": "triton_",
    f"loss = loss + x[{MASK}].sum()": "index_elementwise_kernel",
    "loss = loss + torch.nn.functional.ctc_loss(x.view(16, 1, 64).log_softmax(2), torch.ones(1, 4, dtype=torch.long), (16,), (4,))": "ctc_loss_log_alpha",
    TRITON: "twice",
    GRAPH: "vectorized_elementwise_kernel",
    "loss = loss + torch.nn.functional.scaled_dot_product_attention(*[x.view(1, 1, 16, 64).bfloat16()] * 3, is_causal=True).sum()": "cudnn",
}
PRINTED = ("begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2)); begin.record(); end.record(); held = torch.cuda.memory_allocated(); mean = torch.nn.functional.mse_loss(x, x); print(f'{loss.item():.2f}', "
           "torch.cuda.get_device_name(), torch.cuda.get_device_capability(), torch.cuda.memory_allocated() - held, begin.elapsed_time(end)); del mean")
NEW_SINCE = {"aten::empty_like", "aten::empty_strided"}  # of cuDNN's convolutions: torch 2.11, which recorded, made fewer

SHARDED = """import torch, torch.nn as nn, torch.distributed as dist, understudy
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
dist.init_process_group("nccl")
with torch.device("meta"):
    model = nn.Sequential(*({layer} for _ in range(2)))
for part in (*model, model):
    fully_shard(part, mesh=init_device_mesh("cuda", {mesh}, mesh_dim_names=("replicate", "shard")[-len({mesh}):]), mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32){more})
model.to_empty(device="{device}")
for each in model.parameters():
    nn.init.normal_(each)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(9):
    model(torch.randn(8, 64, device="cuda")).sum().backward(); optimizer.step(); optimizer.zero_grad(); understudy.step()
"""
# What is sharded, and how → the collectives of its step, by name.
ALL, PART = {"_allgather_base": 4, "_reduce_scatter_base": 2}, {"_allgather_base": 2, "_reduce_scatter_base": 2}
SHARDS = {
    ("nn.Linear(64, 64)", "(8,)", "", "cuda"): ALL,
    ("nn.Linear(64, 64)", "(8,)", ", reshard_after_forward=False", "cuda"): PART,
    ("nn.Linear(64, 64)", "(8,)", ", reshard_after_forward=2", "cuda"): ALL,
    ("nn.Linear(64, 64)", "(8,)", ", offload_policy=CPUOffloadPolicy()", "cpu"): ALL,
    ("nn.Linear(64, 64)", "(2, 4)", "", "cuda"): ALL | {"allreduce": 2},
    ("checkpoint_wrapper(nn.Linear(64, 64))", "(8,)", "", "cuda"): ALL,
}

IN_FAKE_GROUP = """import torch, torch.distributed as dist, understudy
from torch.testing._internal.distributed.fake_pg import FakeStore
dist.init_process_group("fake", store=FakeStore(), rank=1, world_size=4)
pairs = [dist.new_group([0, 2]), dist.new_group([1, 3])]
for _ in range(12):
    received, message, part = (torch.full((size,), float("nan")) for size in (6, 64, 2))
    dist.all_to_all_single(received, torch.arange(4.0), [2, 2, 1, 1], [1, 1, 1, 1])
    dist.recv(message, 0)
    dist.reduce_scatter_tensor(part, torch.ones(8), op=dist.ReduceOp.AVG)
    dist.broadcast(part, 3, group=pairs[1])
    print(received.tolist(), part.tolist(), 0.5 < message.std().item() < 2)
    understudy.step()
"""


class PlayedTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def capture(self, text, *options):
        """Captures in a forked process, which need not load torch; returns what it printed on both outputs, and its status."""
        (self.folder / "train.py").write_text(text)
        child = os.fork()
        if child == 0:
            os.chdir(self.folder)
            for number, name in ((1, "printed"), (2, "said")):
                os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            sys.argv = ["capture", "-o", "out", *options, "train.py"]
            try:
                command.main()
            except SystemExit as end:
                sys.stdout.flush()
                os._exit(end.code or 0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return (self.folder / "printed").read_text(), (self.folder / "said").read_text(), status

    def nodes(self, rank=0):
        return json.load(gzip.open(self.folder / f"out/rank-{rank}.et.json.gz"))["nodes"]

    def test_what_needs_a_driver_runs(self):
        for line, kernel in RUNS.items():
            with self.subTest(line):
                _, told, status = self.capture(SCRIPT.format(line=line), "--as", "H100")
                self.assertEqual(status, 0, told)
                events = json.load(gzip.open(self.folder / "out/rank-0.kineto.json.gz"))["traceEvents"]
                self.assertTrue([each for each in events if each.get("cat") == "kernel" and kernel in each["name"]], told)

    def test_a_card_that_is_not_there(self):
        printed, _, _ = self.capture(SCRIPT.format(line=PRINTED), "--as", "H100")
        self.assertEqual(printed.splitlines()[-1], "? NVIDIA H100 80GB HBM3 (9, 0) 4096 1.0")
        described = json.loads((self.folder / "out/capture.json").read_text())
        profile = json.load(gzip.open(self.folder / "out/rank-0.kineto.json.gz"))
        self.assertEqual((described["not_run"], profile["notRun"]), ({"as": "NVIDIA H100 80GB HBM3"},) * 2)
        rank = described["ranks"][0]
        self.assertEqual((rank["step_ns"], rank["assumed_values"], rank["kernel_settings"]["sdp.priority"]), ([], {"train.py:7": 2}, "flash mem_efficient math cudnn overrideable"))
        # Weights, gradients, two moments and a batch, in blocks of 512; cuBLAS's workspace.
        self.assertAlmostEqual(rank["peak_device_bytes"], 4 * 4 * 65 * 64 + 3 * 4 * 16 * 64 + (32 << 20), delta=1 << 20)
        devices = {value[5] for node in self.nodes() for value in node["outputs"]["values"] if isinstance(value, list) and len(value) == 6}
        self.assertLessEqual(devices, {"cuda:0", "cpu", ""})

    def test_sharded_models_become_jobs_of_all_ranks(self):
        for (layer, mesh, more, device), expected in SHARDS.items():
            with self.subTest(mesh + more + layer):
                text = SHARDED.format(layer=layer, mesh=mesh, more=more, device=device)
                _, told, status = self.capture(text, "--as", "H100", "--world-size", "8")
                self.assertEqual(status, 0, told)
                calls = [(compare.NAMES.get(each[0], each[0]), *each[1:]) for each in compare.calls_between_ranks(compare.read(self.folder / "out", 0)[0])]
                self.assertEqual(Counter(each[0] for each in calls if each[0] != "wait"), expected)
                self.assertEqual({each[:2] for each in calls if each[0] != "wait"}, {
                    (name, "BFloat16" if name == "_allgather_base" else "Float") for name in expected})
        bench = str(self.folder / "bench.et")
        compare.run([f"{compare.BIN}/generate", str(self.folder / "out"), "--world-size", "8", "-o", bench])
        with zipfile.ZipFile(bench) as members:  # the last model's: the stream of its operators waits for each collective
            self.assertEqual(members.read("programs/0.jsonl").count(b'"wait of a stream"'), sum(expected.values()))
        self.assertRegex(compare.run([f"{compare.BIN}/predict", bench, "--card", "H100"]), r"\n +4 +[\d.]+  (_allgather_base|allGatherSingleImpl) ")

    def test_an_end_by_the_script_removes_only_what_it_made(self):
        for way, said, status, is_whole in (("sys.exit('no data')", "no data\n", 1, False), ("raise SystemExit({'no': 'data'})", "{'no': 'data'}\n", 1, False),
                                            ("sys.exit(3)", "", 3, False), ("sys.exit()", "the loop ended after 0 of the 2 steps", 1, False),
                                            ("pass", "kind 1 of 1: rank 0\n", 0, True)):
            with self.subTest(way), tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(tempfile, "tempdir", folder):
                _, told, ended = self.capture(SCRIPT.format(line=way) if is_whole else f"import sys\n{way}", "--as", "H100", "--all-kinds")
                self.assertEqual((ended, [*Path(folder).glob("tmp*")], (self.folder / "out/capture.json").exists()), (status, [], is_whole), told)
                self.assertIn(said, told)
                self.assertNotIn(folder, told)
                self.assertNotIn("Traceback", told)

    def test_checkpoints_are_left_out(self):
        _, told, status = self.capture(SCRIPT.format(line="torch.save(network, 'last.pt')"), "--as", "H100")
        self.assertEqual((status, (self.folder / "last.pt").exists()), (0, False), told)
        self.assertIn("\n  not done      torch.save at train.py:7 (2)\n", told)

    def test_a_script_without_step_is_told_to_add_it(self):
        _, told, status = self.capture(SCRIPT.format(line="").replace("understudy.step()", "").replace("range(9)", "range(99)"), "--as", "H100")
        self.assertEqual((told.splitlines()[-1], status), (
            "capture: train.py:8: optimizers made 20 steps, and none ended with understudy.step(); add `import understudy`, and "
            "`understudy.step()` at the end of each training step; nothing was written", 1))

    def test_unknown_cards_and_ranks_are_refused(self):
        for said, line, *options in (("no such card", "", "--as", "H1000"), ("need --as", "", "--world-size", "2"), ("unrecognized arguments", "", "--world", "2"),
                                     ("GPU device may be out of range", "x.to('cuda:1')", "--as", "H100"),
                                     ("PyTorch's CUDA builds have no kernels for AMD Instinct MI300X", "", "--as", "MI300X"), ("on a CPU the script runs itself", "", "--as", "cpu"), ("the script made no process group of 2 ranks", "", "--as", "H100", "--world-size", "2")):
            self.assertIn(said, self.capture(SCRIPT.format(line=line), *options)[1])

    def test_what_is_built_on_the_host_ends_where_its_memory_does(self):
        _, told, status = self.capture(SCRIPT.format(line="held = [torch.empty(1 << 28) for _ in range(4096)]"), "--as", "H100")
        self.assertEqual(status, 1)
        self.assertRegex(told.splitlines()[-1], (
            r'^capture: train\.py:7: the host\'s memory ends: [\d.]+ [MGT]iB were free, and what the script builds there takes them and wants 1\.0 GiB '
            r'more; build the model where it takes none: under `with torch\.device\("cuda"\)`, or "meta" and then `to_empty\(device="cuda"\)`; '
            r'nothing was written$'))

    def test_a_notebook_is_told_the_command(self):
        told = ("{}: torch and the script run on a driver that must be loaded before torch, so they need a process of their own; from a notebook: "
                "!understudy capture --as H100 -o DIR train.py")
        for of_notebook in (unittest.mock.patch("builtins.get_ipython", create=True), unittest.mock.patch.dict(sys.modules, torch=unittest)):
            with of_notebook:
                self.assertEqual(self.capture(SCRIPT, "--as", "H100")[1:], (f"capture: {told.format('--as H100')}\n", 2))
        ended = subprocess.run([sys.executable, "-c", "import understudy; understudy.capture('out', card='H100')"],
                               env={**os.environ, "PYTHONPATH": str(ROOT / "capture")}, capture_output=True, text=True, check=False)
        self.assertEqual(ended.stderr.splitlines()[-1], f"TypeError: {told.format('capture(card=…)')}")

    def test_without_a_build_it_says_what_to_do(self):
        with unittest.mock.patch.dict(os.environ, UNDERSTUDY_BIN="/nowhere"):
            self.assertEqual(self.capture(SCRIPT, "--as", "H100")[1].splitlines()[-1], (
                "capture: --as H100: predict: /nowhere/understudy cannot be started (No such file or directory); install "
                "the package again, or build the clone with scripts/build"))

    def test_the_steps_are_those_recorded_on_a_card(self):
        for name in ("unet_autocast", "dlrm_train"):
            with self.subTest(name):
                (both, *only), kernels, _ = compare.compare_recorded(name, self.folder / name)
                self.assertGreater(both, 200)
                self.assertEqual((sorted(only[0]), {each for each, *_ in only[1]} - NEW_SINCE), ([], set()))
                self.assertGreater(kernels[0], 30)  # those that torch renamed since 2.11 are not among them

    def test_the_example_fits(self):
        captured = str(self.folder / "llama")
        compare.run([*compare.CAPTURE, "--as", "B200", "--world-size", "1024", "--rank", "128", "-o", captured,
                     str(compare.LLAMA), "405b", "8", "8"])
        rank, = json.loads(Path(captured, "capture.json").read_text())["ranks"]
        self.assertAlmostEqual(rank["peak_device_bytes"] / 2**30, 100, delta=10)

    def test_communication_is_that_of_real_ranks(self):
        for name in ("data", "fsdp", "tensor", "interleaved", "experts", *compare.OF_KINDS):
            with self.subTest(name):
                real, played = compare.capture(name, self.folder / name)
                self.assertEqual(compare.as_called(compare.job(real)), compare.as_called(compare.job(played, "--world-size", str(compare.RANKS[name]))))

    def test_steps_under_a_fake_group_are_those_of_real_ranks(self):
        real = compare.capture_real("data", 2, str(self.folder / "real"))
        alone = compare.capture_in_fake_group("data", 1, 2, str(self.folder / "group"))
        self.assertEqual(compare.job(alone, "--world-size", "2"), compare.job(real))
        with zipfile.ZipFile(f"{alone}.et") as members:
            calls = [line for line in members.read("programs/0.jsonl").splitlines() if b'"comm":' in line]
        self.assertFalse([line for line in calls if b'"timing"' in line or not calls])
        only_real, only_alone, *differ, ratio = compare.compare((real, alone), 1)
        self.assertEqual((dict(only_real), dict(only_alone), differ), ({}, {}, [0, 0]))
        self.assertTrue(ratio is None or abs(ratio - 1) < 0.03, ratio)

    def test_a_rank_of_a_fake_group(self):
        printed, told, status = self.capture(IN_FAKE_GROUP, *compare.REAL)
        self.assertEqual(status, 0, told)
        self.assertEqual(printed.splitlines()[-1], "[0.0, 1.0, 2.0, 3.0, 0.0, 1.0] [1.0, 1.0] True")
        self.assertIn("rank 1 of 4, under torch's fake group: what communication takes is not known", told)
        rank, = json.loads((self.folder / "out/capture.json").read_text())["ranks"]
        self.assertEqual([(group["backend_config"][:8], group["ranks"]) for group in rank["process_groups"]],
                         [("cpu:fake", []), ("cpu:fake", [1, 3]), ("cpu:fake", [0, 2])])
        calls = [each for each in compare.calls_between_ranks(compare.read(self.folder / "out", 1)[0]) if each[0] != "wait"]
        self.assertEqual([(each[0], each[7], *each[10:]) for each in calls], [
            ("all_to_allv", "4", "[1]"), ("recv", "4", "[0]"), ("_reduce_scatter_base", "4", "[1]", "avg"), ("broadcast", "2", "[1]")])

    def test_a_fake_group_that_was_made_too_early_is_refused(self):
        text = IN_FAKE_GROUP.replace("for _", "c = understudy.capture('late'); c.step()\nfor _")
        self.assertIn("call understudy.use_nccl_form() before init_process_group()", subprocess.run(
            [sys.executable, "-c", text], env={**os.environ, "PYTHONPATH": str(ROOT / "capture")}, capture_output=True, text=True, check=False).stderr)


if __name__ == "__main__":
    unittest.main()
