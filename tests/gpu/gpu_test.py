"""Checks what only a GPU can show: captures made on it, and their replays' times, counters, kernels, memory, graphs.

    python3 tests/gpu/gpu_test.py -v [Gpu.test_counters …]     by a Python with torch, in a clone

UNDERSTUDY_BIN names the folder of the programs (default build/release/bin), which may come from another machine.
UNDERSTUDY_GPU_OUT names a folder that keeps captures, benchmarks and reports. UNDERSTUDY_GPU_DEVICE=cpu tries on a CPU
what it has in common with a GPU. Figures are printed as they are found.
"""

import contextlib
import csv
import functools
import gzip
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "capture"))
from understudy import programs  # noqa: E402
from understudy.nvml import Nvml  # noqa: E402

DEVICE = os.environ.get("UNDERSTUDY_GPU_DEVICE", "cuda")
ON_GPU = DEVICE == "cuda"
PROGRAMS, SAMPLES = Path(__file__).resolve().parent / "programs", ROOT / "fleet_samples"
LARGE_GPT, START_RANKS = PROGRAMS / "large_gpt.py", ROOT / "tests" / "mpi" / "start_ranks"
OWN_WORK = tempfile.TemporaryDirectory(prefix="gpu_test.")
WORK = Path(os.environ.get("UNDERSTUDY_GPU_OUT", OWN_WORK.name))
ENVIRONMENT = {**programs.environment(), "UNDERSTUDY_TORCH_ROOT": str(Path(torch.__file__).parent)}
STEADY = [] if ON_GPU else ["--threads", 1]
COMMAND_S = 60 if ON_GPU else 300  # a CPU also runs other programs

STEPS = ["--warmup", 3, "--timed", 10, "--profiled", 1]
ITERATIONS = ["--warmup", 3, "--iterations", 10, "--passes", 5]
COMPARED = ["--warmup", 3, "--iterations", 30, "--passes", 20]
COUNTED = ["--warmup", 2, "--iterations", 3, "--passes", 2, "--counters", "default"]
SHARE = 0.03 if ON_GPU else 0.5  # allowed difference between two runs of one program; other programs share a CPU
FIGURE_SHARE = 0.05  # of bytes and operations
SIDE, COPIED_BYTES = 8192, 4 << 30  # of programs/steps.py
DRAM = "dram__bytes_read.sum,dram__bytes_write.sum"
# Depends on what else runs on the card, or on the host's speed.
NOT_ALIKE = {"pcie_bytes", "cpu_ms", "minor_faults", "major_faults", "involuntary_switches", "instructions", "cycles", "ipc",
             "cache_misses", "host_dram_bytes"}
CAPTURED = ["mlp", "resnet18", "gpt_adamw_foreach", "gpt_adamw_fused", "dlrm_dense", "dlrm_sparse", "speech_encoder"]
OF_OTHERS = ["mlp", "resnet18", "gpt_adamw_fused", "dlrm_sparse", "speech_encoder",  # of a CPU; of other GPUs
             "resnet_ddp/resnet_1gpu_et_1.1.1.json.tar.gz", "dlrm_8gpu/dlrm_pytorch_et.tar.gz"]


def start(*words, **environment):
    """Runs a command in a process group that ends with it, and returns its result."""
    with subprocess.Popen([str(word) for word in words], env={**ENVIRONMENT, **environment}, text=True, start_new_session=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        try:
            said = child.communicate(timeout=COMMAND_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(words, child.returncode, *said)


def run(*words, **environment):
    done = start(*words, **environment)
    if done.returncode != 0:
        raise AssertionError(f"{words[0]} ended with status {done.returncode}: {(done.stderr or done.stdout)[-2000:]}")
    return done.stdout


def capture(program, name, *options, launcher=(), **environment):
    """Captures steps of a program on the device. Returns rank 0's part of capture.json."""
    shutil.rmtree(WORK / name, ignore_errors=True)
    run(sys.executable, *launcher, programs.START, "command", "-o", WORK / name, "--stop", "--steady", 0, *STEADY, *options,
        program, "--device", DEVICE, "--steps", 1_000_000, **environment)
    return json.loads((WORK / name / "capture.json").read_text())["ranks"][0]


def generate(traces, name, *options):
    bench = WORK / f"{name}.et"
    run(*programs.command("generate"), traces, "-o", bench, *options)
    return bench


def replay(bench, name, *options, launcher=(), **environment):
    report = WORK / f"{name}.json"
    run(*launcher, *programs.command("replay"), bench, "--device", DEVICE, *STEADY, "--report", report, *options, **environment)
    return json.loads(report.read_text())


def captured_step(step, *options):
    """Captures a step of programs/steps.py. Returns its benchmark."""
    capture(PROGRAMS / "steps.py", step, *STEPS, UNDERSTUDY_STEP=step)
    return generate(WORK / step, step, *options)


@functools.cache
def spans():
    return captured_step("spans")


@functools.cache
def gpt():
    """A GPT of 1.1 billion parameters in bfloat16. Returns rank 0's part of its capture, benchmark, and report."""
    rank = capture(LARGE_GPT, "gpt", "--warmup", 3, "--timed", 10, "--profiled", 2, "--shapes", *(["--counters"] if ON_GPU else []))
    bench = generate(WORK / "gpt", "gpt")
    return rank, bench, replay(bench, "gpt", *ITERATIONS)


def profiled_replay(bench, name, category):
    """Returns the events of a kind of a short replay in their order, and its report."""
    profile = WORK / f"{name}.profile.json"
    report = replay(bench, name, "--warmup", 0, "--iterations", 3, "--passes", 5, "--trace", profile)
    return in_order(json.loads(profile.read_text())["traceEvents"], category), report


def in_order(events, category):
    return sorted((event for event in events if event.get("cat") == category and "dur" in event), key=lambda event: event["ts"])


def last_step(name, category):
    """Returns the events of the last step in the capture's profile without the trace observer."""
    with gzip.open(WORK / name / "rank-0.kineto_only.json.gz", "rt") as file:
        events = json.load(file)["traceEvents"]
    step = in_order([event for event in events if event["name"].startswith("ProfilerStep#")], "user_annotation")[-1]
    return [event for event in in_order(events, category) if step["ts"] <= event["ts"] <= step["ts"] + step["dur"]]


def median_ms(report):
    return report["iteration_ms"]["median"]


def operators_ms(report):
    return sum(row.get("device_ms" if ON_GPU else "ms") or 0 for row in report["operators"])


def peak_bytes(report):
    return (report["ranks"][0].get("gpu") or report)["memory"]["peak_bytes"]


of_gpus = unittest.skipUnless(ON_GPU, "a CPU has none")


@unittest.skipIf(ON_GPU and not torch.cuda.is_available(), "no GPU that torch can use")
class Gpu(unittest.TestCase):
    def show(self, **figures):
        print(f"{self._testMethodName.removeprefix('test_')}:",
              ", ".join(f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}" for name, value in figures.items()))

    def within(self, what, value, reference, share):
        self.show(**{what: float(value), "for": float(reference)})
        self.assertLessEqual(abs(value - reference), share * abs(reference), what)

    def expect_whole(self, report):
        self.show(coverage=report["coverage"]["count"], operators=report["coverage"]["selected"], ms=median_ms(report))
        self.assertEqual((report["coverage"]["count"], report["output_mismatches"], report["values"]["nan"]), (1, 0, 0))

    def counted(self, report):
        self.show(**report["counter_sources"], **report["counters"])
        self.assertEqual(report["counter_sources"]["cupti"], "counted")
        return {row["name"]: row["counters"] for row in report["operators"]}

    @of_gpus
    def test_the_driver_has_what_a_report_needs(self):
        nvml = Nvml()
        self.show(gpu=torch.cuda.get_device_name(0), gpus=torch.cuda.device_count(), driver=nvml.driver_version(),
                  torch=torch.__version__, cudnn=torch.backends.cudnn.version(), nccl=torch.cuda.nccl.version())
        needed = ["TotalEnergyConsumption", "PowerUsage", "ClockInfo", "EnforcedPowerLimit", "MaxClockInfo"]
        self.assertEqual([name for name in needed if not nvml.has(f"nvmlDeviceGet{name}")], [])

    def test_times_of_a_product_are_its_kernels(self):
        # Both come from one run: between runs, a GPU at its power limit changes its clocks.
        events, report = profiled_replay(spans(), "spans_profiled", "kernel" if ON_GPU else "cpu_op")
        by_name = {}
        for event in events:
            if ON_GPU or event["name"] == "aten::mm":
                by_name.setdefault(event["name"], []).append(event["dur"] / 1e3)
        row = next(row for row in report["operators"] if row["name"] == "aten::matmul")
        shown = statistics.median(max(by_name.values(), key=sum))  # the product has by far most of the time
        self.within("product_ms", row["device_ms" if ON_GPU else "ms"] / row["count"], shown, 0.05 if ON_GPU else 0.5)

    @of_gpus
    def test_counters_of_a_product_and_of_a_copy(self):
        rows = self.counted(replay(spans(), "spans_counted", *COUNTED))
        self.within("operations", rows["aten::matmul"]["tensor_flop"], 2 * SIDE**3, FIGURE_SHARE)
        copied = rows["aten::copy_"]["dram_bytes"]
        self.within("bytes", copied, 2 * COPIED_BYTES, FIGURE_SHARE)
        if shutil.which("ncu"):
            said = run("ncu", "--csv", "--page", "raw", "--print-units", "base", "--target-processes", "all", "--metrics", DRAM,
                       *programs.command("replay"), spans(), "--device", "cuda", "--warmup", 0, "--iterations", 1, "--passes", 1)
            lines = said[said.index('"ID"'):].splitlines()
            kernels = list(csv.DictReader(lines))[1:]  # without the units
            most = max(sum(float(row[name].replace(",", "")) for name in DRAM.split(",")) for row in kernels)
            self.within("bytes_beside_ncu", copied, most, FIGURE_SHARE)

    @of_gpus
    def test_counters_of_the_original_and_of_its_replay(self):
        report = replay(gpt()[1], "gpt_counted", *COUNTED)
        self.counted(report)
        original = report["original"]["counters"]
        for name in sorted(original.keys() & report["counters"].keys() - NOT_ALIKE):
            self.within(name, report["counters"][name], original[name], FIGURE_SHARE)

    def test_a_large_model_is_replayed_whole(self):
        rank, _, report = gpt()
        self.show(original_ms=statistics.median(rank["step_ns"]) / 1e6)
        self.expect_whole(report)
        if ON_GPU:
            self.within("peak_bytes", peak_bytes(report), rank["peak_device_bytes"], FIGURE_SHARE)

    def test_a_profile_alone_makes_the_benchmark_of_its_trace(self):
        traced = gpt()[2]
        report = replay(generate(WORK / "gpt" / "rank-0.kineto.json.gz", "gpt_alone"), "gpt_alone", *ITERATIONS)
        self.expect_whole(report)
        self.within("ms", median_ms(report), median_ms(traced), SHARE)
        self.within("operators_ms", operators_ms(report), operators_ms(traced), SHARE)
        self.within("peak_bytes", peak_bytes(report), peak_bytes(traced), FIGURE_SHARE)

    @of_gpus
    def test_kernels_are_those_of_the_original_in_its_order(self):
        def of(events):
            return [(event["name"], tuple(event["args"]["grid"]), tuple(event["args"]["block"])) for event in events]
        bench = gpt()[1]
        wanted, seen = of(last_step("gpt", "kernel")), of(profiled_replay(bench, "gpt_kernels", "kernel")[0])
        found = [place for place in range(len(seen)) if seen[place:place + len(wanted)] == wanted]
        self.show(in_a_step=len(wanted), steps_found=len(found))
        self.assertTrue(wanted and found)

    def test_the_same_twice_is_the_same(self):
        bench = gpt()[1]
        runs = []
        for turn in (1, 2):
            rank = capture(LARGE_GPT, f"gpt_null_{turn}", "--warmup", 3, "--timed", 10, "--profiled", 0, "--no-trace")
            runs.append((statistics.median(rank["step_ns"]) / 1e6, median_ms(replay(bench, f"gpt_null_{turn}", *ITERATIONS))))
        self.within("original_again_ms", runs[1][0], runs[0][0], SHARE)
        self.within("replay_again_ms", runs[1][1], runs[0][1], SHARE)

    def expect_verdict(self, verdict, base, new):
        rows = json.loads(start(*programs.command("compare"), WORK / f"{base}.json", WORK / f"{new}.json", "--format", "json").stdout)["rows"]
        row = next(row for row in rows if (row["kind"], row["name"]) == ("class", "matmul"))
        self.show(base=base, new=new, verdict=row["verdict"], ratio=(row["ratio"] or {}).get("value"))
        self.assertEqual(row["verdict"], verdict, row["why"])

    def test_a_planted_slow_down_is_found(self):
        replay(gpt()[1], "gpt_base", *COMPARED)
        replay(gpt()[1], "gpt_slow", *COMPARED, "--slow", "matmul:100")
        self.expect_verdict("SLOWER", "gpt_base", "gpt_slow")

    @of_gpus
    def test_switched_tf32_is_found(self):
        for switch in ("0", "1"):
            replay(spans(), f"tf32_{switch}", *COMPARED, TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=switch)
        self.expect_verdict("FASTER", "tf32_0", "tf32_1")

    @of_gpus
    def test_graphs_are_as_fast_as_those_of_torch(self):
        small = SAMPLES / "programs" / "mlp.py"  # a host issues it more slowly than a GPU computes
        capture(small, "graph_mlp", *STEPS)
        for program, bench in {LARGE_GPT: gpt()[1], small: generate(WORK / "graph_mlp", "graph_mlp")}.items():
            original_ms = float(run(sys.executable, PROGRAMS / "graphed.py", program).split()[-1])
            report = replay(bench, f"{program.stem}_graph", *COMPARED, "--streams", "graph")
            without = replay(bench, f"{program.stem}_no_graph", *ITERATIONS, "--streams", "one")
            use = report["graphs"]
            self.show(program=program.stem, without_ms=median_ms(without), launches_saved=use["launches_saved"])
            self.assertEqual((use["graphs"], use["prevented"]), (1, []))
            self.within("ms", median_ms(report), original_ms, SHARE)

    @of_gpus
    def test_page_locked_memory_is_copied_from(self):
        events, _ = profiled_replay(captured_step("pinned"), "pinned", "gpu_memcpy")
        for copies in (last_step("pinned", "gpu_memcpy"), events):
            self.assertIn("Memcpy HtoD (Pinned -> Device)", {event["name"] for event in copies})

    def test_kernels_of_a_compiled_step_are_kept(self):
        cache = WORK / "kernels"
        capture(SAMPLES / "programs" / "compiled.py", "compiled", *STEPS, TORCHINDUCTOR_CACHE_DIR=str(cache),
                TRITON_CACHE_DIR=str(cache / "triton"))
        coverage = replay(generate(WORK / "compiled", "compiled"), "compiled", *ITERATIONS)["coverage"]
        kept = sum(1 for _ in cache.rglob("*.cubin" if ON_GPU else "*.so"))
        self.show(kept=kept, coverage=coverage["count"], stubs=sum(row["count"] for row in coverage["stubbed"]))
        self.assertGreater(kept, 0)
        self.assertEqual(coverage["dropped"], [])

    @of_gpus
    def test_triton_kernels_give_what_operators_give(self):
        architecture = "sm_{}{}".format(*torch.cuda.get_device_capability())
        for name in ("usual", "special"):
            with self.subTest(name):
                capture(PROGRAMS / "against_eager.py", name, *STEPS, UNDERSTUDY_LAUNCH=name)
                checksums = WORK / f"{name}.checksums"
                report = replay(generate(WORK / name, name, "--kernels", architecture), name, *ITERATIONS, "--checksums", checksums)
                agree, differ, *pairs = [line.split()[1] for line in checksums.read_text().splitlines() if line.startswith("aten::any ")]
                self.show(pairs=len(pairs), launches=sum(row["count"] for row in report["operators"] if row["class"] == "compiled"))
                self.assertEqual(report["coverage"]["stubbed"], [])
                self.assertNotEqual(agree, differ)
                self.assertEqual(set(pairs), {agree})

    def test_products_of_few_types_and_attention(self):
        for name in ["grouped_mm", "scaled_mm"] + (["cudnn_attention"] if ON_GPU else []):
            with self.subTest(name):
                self.expect_whole(replay(captured_step(name), name, *ITERATIONS))

    def test_a_rank_on_each_gpu_communicates(self):
        ranks = torch.cuda.device_count() if ON_GPU else 1
        capture(SAMPLES / "programs" / "gpt_ddp.py", "ranks", *STEPS,
                launcher=["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks])
        report = replay(generate(WORK / "ranks", "ranks"), "ranks", *ITERATIONS, *(["--comms", "nccl"] if ON_GPU else []),
                        launcher=[START_RANKS, ranks] if ranks > 1 else [])
        self.expect_whole(report)
        self.assertEqual(report["environment"]["settings"].get("comms"), "nccl" if ON_GPU else None)

    @of_gpus
    def test_two_ranks_share_one_gpu_on_purpose_alone(self):
        ranks = [START_RANKS, 2, *programs.command("replay"), generate(SAMPLES / "gpt_ddp", "two_ranks")]
        if torch.cuda.device_count() == 1:
            self.assertNotEqual(start(*ranks, "--device", "cuda", *ITERATIONS).returncode, 0)
        run(*ranks, "--device", "cuda:0", "--report", WORK / "two_ranks.json", *ITERATIONS)
        report = json.loads((WORK / "two_ranks.json").read_text())
        self.expect_whole(report)
        self.assertTrue(report["environment"]["settings"]["comms"].startswith("host"))

    def test_samples_captured_here(self):
        for name in CAPTURED:
            with self.subTest(name):
                rank = capture(SAMPLES / "programs" / f"{name}.py", name, *STEPS)
                bench = generate(WORK / name, name)
                report = replay(bench, f"{name}.asap", *COMPARED, "--pace", "asap")
                paced = replay(bench, f"{name}.recorded", *COMPARED, "--pace", "recorded")
                self.show(sample=name, original_ms=statistics.median(rank["step_ns"]) / 1e6, paced_ms=median_ms(paced),
                          device_ms=operators_ms(report), original_peak_bytes=rank["peak_device_bytes"], peak_bytes=peak_bytes(report))
                self.expect_whole(report)

    def test_samples_of_other_machines(self):
        for sample in OF_OTHERS:
            with self.subTest(sample):
                name = sample.partition("/")[0] + ".stored"
                # Custom operators may be missing here; kernels of another machine keep other tensors for their backward pass.
                report = replay(generate(SAMPLES / sample, name), name, *COMPARED, "--rank", 0, "--continue-on-error")
                self.show(sample=name, ms=median_ms(report), coverage=report["coverage"]["count"], mismatches=report["output_mismatches"])


if __name__ == "__main__":
    unittest.main()
