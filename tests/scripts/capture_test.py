"""What a capture needs, and what it does without."""

import contextlib
import gzip
import itertools
import json
import os
import re
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "capture"))
import understudy  # noqa: E402
from understudy import (comms, kernels, machine, measurements, notices, recorder as capture,  # noqa: E402
                                records, settling, threads)
from understudy.observer import fault_counting  # noqa: E402
from wrapper import Wrapper  # noqa: E402

ALWAYS = {"capture.json", "rank-0.et.json.gz", "rank-0.kineto.json.gz",
          "rank-0.kineto_only.json.gz"}
FAULTS = "rank-0.faults.json.gz"
COUNTERS = "rank-0.counters.json.gz"
NEEDED = 6  # warm-up, timed, the profiler's warm-up, profiled, indices, trace


def record(folder, steps, **options):
    """Trains for `steps` steps; returns the names of the files and what capture.json says."""
    model = torch.nn.Linear(16, 16)
    with capture.Capture(folder, warmup=1, timed=1, profiled=1, **options) as recorder:
        for _ in range(steps):
            model(torch.ones(4, 16)).sum().backward()
            recorder.step()
    names = {path.name for path in Path(folder).iterdir()}
    return names, json.loads((Path(folder) / "capture.json").read_text())["ranks"][0]


class CaptureTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def capture(self, step, **options):
        """Captures as many steps as it wants; returns the recorder, and what capture.json says of the rank."""
        recorder = capture.Capture(self.folder, **{"warmup": 1, "timed": 1, "profiled": 1, **options})
        with recorder:
            while not recorder.done:
                step()
                recorder.step()
        return recorder, json.loads((Path(self.folder) / "capture.json").read_text())["ranks"][0]

    def test_a_loop_that_is_too_short_is_refused(self):
        with self.assertRaises(capture.IncompleteCapture) as caught:
            record(self.folder, NEEDED - 1)
        self.assertEqual(str(caught.exception),
                         "the loop ended after 5 of the 6 steps that the capture needs; make it "
                         "longer, or ask for fewer warm-up or timed steps")
        self.assertEqual(list(Path(self.folder).iterdir()), [])

    def test_what_is_no_function_is_refused_before_a_step(self):
        with self.assertRaises(TypeError) as caught:
            capture.capture_step(torch.ones(2), f"{self.folder}/capture")
        self.assertEqual(str(caught.exception),
                         "capture_step() calls its first argument once a step: expected a function "
                         "of no arguments, as capture_step(lambda: train(batch), 'captures/mine'), "
                         "got a Tensor")
        self.assertEqual(list(Path(self.folder).iterdir()), [])
        with self.assertRaises(TypeError) as caught:
            understudy.step(1)
        self.assertEqual(str(caught.exception),
                         "understudy.step() takes nothing, got an int: it is called behind "
                         "each step of a loop; capture_step(step_fn, out_dir) is what calls a "
                         "function once a step")

    def test_page_faults_are_counted_where_the_loop_goes_on(self):
        names, rank = record(self.folder, NEEDED + capture.FAULT_STEPS)
        can_count = fault_counting() is not None
        self.assertEqual(names, ALWAYS | ({FAULTS} if can_count else set()))
        self.assertEqual(set(rank["files"]), names - {"capture.json"})
        self.assertEqual(len(rank["counted_minor_faults"]),
                         capture.FAULT_STEPS - 1 if can_count else 0)

    def test_a_loop_that_ends_in_between_does_without(self):
        for steps in (NEEDED, NEEDED + 1, NEEDED + capture.FAULT_STEPS - 1):
            with tempfile.TemporaryDirectory() as folder:
                names, rank = record(folder, steps)
                self.assertEqual(names, ALWAYS, steps)
                self.assertEqual(set(rank["files"]), names - {"capture.json"})
                self.assertEqual(rank["counted_minor_faults"], [])

    def test_they_can_be_left_out(self):
        names, _ = record(self.folder, NEEDED + capture.FAULT_STEPS, count_faults=False)
        self.assertEqual(names, ALWAYS)

    def counted(self, step, refuses=None):
        """The notices and files of a capture with counters; the GPU is played, and the profiler writes what it writes
        on a CPU and `step`, or refuses."""
        def settings(counts_faults=False, all_threads=False, metrics=()):
            if metrics and refuses:
                raise RuntimeError(refuses)
            self.metrics = self.metrics or metrics

        self.metrics = ()
        notices = []
        with mock.patch.object(torch.version, "cuda", "13.0"), \
                mock.patch.object(records, "settings", settings), \
                mock.patch.object(capture, "plan", lambda **options: [
                    "warmup", "timed", "profiler_warmup", "kineto_only", "indices", "et"]
                    + ["counters"] * options["counts_kernels"]), \
                mock.patch.object(torch.cuda, "is_available", lambda: True):
            recorder = capture.Capture(self.folder, warmup=1, timed=1, profiled=1, counters=True)
        recorder.notices = notices
        model = torch.nn.Linear(16, 16)
        with mock.patch.object(records, "settings", settings), recorder:
            for _ in range(NEEDED + 1):
                with torch.profiler.record_function(step):
                    model(torch.ones(4, 16)).sum()
                recorder.step()
        return notices, {path.name for path in Path(self.folder).iterdir()}

    def test_counters_are_in_a_profile_of_their_own(self):
        notices, names = self.counted("cuda_profiler_range")
        self.assertEqual(names, ALWAYS | {COUNTERS})
        self.assertIn("dram__bytes_read.sum", self.metrics)
        self.assertEqual([notice for notice in notices if "counters" in notice], [])

    def test_without_counters_the_capture_says_why(self):
        told = "hardware counters were not recorded: "
        notices, names = self.counted("step")
        self.assertEqual(names, ALWAYS)
        self.assertIn(told + "the profiler wrote none; if it says INSUFFICIENT_PRIVILEGES above, an administrator "
                      "allows them (NVreg_RestrictProfilingToAdminUsers=0)", notices)
        notices, names = self.counted("step", refuses="no such metric")
        self.assertEqual(names, ALWAYS)
        self.assertIn(told + "no such metric", notices)
        self.assertEqual(sum(notice.startswith(told) for notice in notices), 1)

    @unittest.skipIf(torch.cuda.is_available(), "there is a GPU")
    def test_on_a_cpu_there_are_no_counters(self):
        with capture.Capture(self.folder, warmup=0, timed=1, profiled=0, trace=False, counters=True) as recorder:
            recorder.step()
        self.assertIn("hardware counters were not recorded: torch sees no NVIDIA GPU", recorder.notices)

    def test_arguments_are_in_the_profile_of_the_traced_step_where_they_are_asked_for(self):
        def arguments_of(name):
            with gzip.open(f"{self.folder}/rank-0.{name}.json.gz", "rt") as file:
                events = json.load(file)["traceEvents"]
            return [(event["args"].get("Input Dims"), event["args"].get("Input Strides"),
                     event["args"].get("Input type")) for event in events if event["name"] == "aten::addmm"]

        record(self.folder, NEEDED, shapes=True)
        self.assertEqual(arguments_of("kineto"), [(
            [[16], [4, 16], [16, 16], [], []], [[1], [16, 1], [1, 16], [], []],
            ["float", "float", "float", "Scalar", "Scalar"])])
        self.assertEqual(arguments_of("kineto_only"), [(None, None, None)])
        record(self.folder, NEEDED)
        self.assertEqual(arguments_of("kineto"), [(None, None, None)])

    def test_operators_on_threads_of_the_programs_own_are_in_the_profiles(self):
        model = torch.nn.Linear(16, 16)

        def other():
            torch.nn.functional.softsign(model(torch.ones(4, 16))).sum().backward()

        with ThreadPoolExecutor(1) as pool:
            with capture.Capture(self.folder, warmup=1, timed=1, profiled=1) as recorder:
                for _ in range(NEEDED + capture.FAULT_STEPS):
                    pool.submit(other).result()
                    model(torch.ones(4, 16)).sum()
                    recorder.step()
        for name in ("kineto", "kineto_only", "et"):
            path = Path(self.folder) / f"rank-0.{name}.json.gz"
            self.assertIn("aten::abs", gzip.decompress(path.read_bytes()).decode(), name)
        self.assertEqual([notice for notice in recorder.notices if " more thread" in notice],
                         ["operators ran on 1 more thread of the program's own: to see them, "
                          "profiles leave out when memory came and went"])

    def test_autograds_threads_are_not_the_programs_own(self):
        engine = threads.ENGINE + ": AddBackward0"
        events = [(threads.HERE, 1, 5), ("aten::add", 1, 6), (engine, 2, 7), ("aten::mul", 2, 8)]
        self.assertEqual(threads.own_threads(events), 0)
        self.assertEqual(threads.own_threads([*events, ("aten::ones_like", 2, 4)]), 1)
        self.assertEqual(threads.own_threads([("aten::add", 3, 9), (threads.HERE, 1, 5)]), 1)

    def test_the_speed_probe_stands_beside_timed_and_profiled_steps(self):
        readings = iter(range(100))
        _, rank = record(self.folder, NEEDED, speed_probe=lambda: next(readings))
        self.assertEqual(rank["step_speed_probe_ms"], [0])
        self.assertEqual(rank["kineto_only_speed_probe_ms"], [1])

    def test_without_one_there_are_no_readings(self):
        _, rank = record(self.folder, NEEDED)
        self.assertEqual((rank["step_speed_probe_ms"], rank["kineto_only_speed_probe_ms"]), ([], []))

    def waited_for(self, step_s, steps=10_000, starved=0, **options):
        """A capture of steps whose number n takes step_s(n) by a clock that only they move, without a CPU for a share of it; its folder,
        the recorder and what it said."""
        now, said = [0.0], []
        read = lambda: int(now[0] * 1e9)  # noqa: E731
        with mock.patch.object(capture, "clock", read), mock.patch.object(measurements, "clock", read), \
             mock.patch.object(capture.machine, "cpu_wait_ns", lambda: starved if starved is None else int(now[0] * 1e9 * starved)):
            recorder = capture.Capture(self.folder, **{"warmup": 1, "timed": 10, "profiled": 1, "steady_s": 60,
                                                       "count_faults": False, "say": said.append, **options})
            with recorder:
                for number in range(steps):
                    torch.ones(4).add_(1)
                    now[0] += step_s(number)
                    if not recorder.step():
                        break
        rank = json.loads((Path(self.folder) / "capture.json").read_text())["ranks"][0]
        return rank, recorder, said

    def test_steps_that_get_faster_are_waited_for(self):
        rank, recorder, said = self.waited_for(lambda number: max(0.5, 2 - number / 10))
        self.assertEqual(rank["steady"], {"is_steady": True, "quarters_differ": 0, "waited_s": 22.5})
        self.assertEqual(rank["step_ns"], [700_000_000, 600_000_000] + [500_000_000] * 10)  # the second half of 24
        self.assertEqual([len(rank[key]) for key in ("step_minor_faults", "warmup_step_ns")], [12, 1])
        self.assertEqual(recorder.notices, [])
        self.assertEqual(said, [
            "waiting for steady steps: 1100.00 ms each, quarters of 4 s differ by 19%; 14 of at most 60 s",
            "waiting for steady steps: 500.00 ms each, quarters of 5 s differ by 41%; 20 of at most 60 s"])

    def test_steps_that_never_are_steady_are_captured_and_named(self):
        rank, recorder, said = self.waited_for(lambda number: 0.1 * 1.01 ** number)
        self.assertEqual(rank["steady"]["is_steady"], False)
        self.assertEqual(recorder.notices, ["steps were not steady after 64 s, quarters of 16 s differ by 64%; the "
                                            "capture is of them as they were"])
        self.assertEqual(len(rank["step_ns"]), 100)  # the second half
        self.assertEqual(said[:1] + said[-1:], [
            "waiting for steady steps: 109.37 ms each; 1 of at most 60 s",
            "waiting for steady steps: 524.22 ms each, quarters of 14 s differ by 60%; 57 of at most 60 s"])

    def test_steps_as_long_as_each_other_are_steady_unless_others_take_the_cpus(self):
        wide = "steps were not steady after 62 s, quarters of 16 s differ by 0%, without a CPU for 45% of the time; the capture is of them as they were"
        warned = ("threads of the steps were ready and had no CPU for 45% of the time: other programs run, or more threads than CPUs; times are "
                  "longer than the step's own, however steady")
        for starved, notices in ((0, []), (0.09, []), (None, []), (0.45, [wide])):
            with self.subTest(starved):
                rank, recorder, _ = self.waited_for(lambda number: 0.5, starved=starved)
                self.assertEqual((rank["steady"]["is_steady"], recorder.notices), (not notices, notices))
                self.assertEqual(warned in recorder.summary, bool(notices), recorder.summary)
                self.assertEqual({*rank["step_cpu_wait_ns"]}, {starved if starved is None else int(0.5e9 * starved)})

    def test_steps_of_a_minute_are_not_waited_for(self):
        rank, recorder, said = self.waited_for(lambda number: 70, timed=2)
        self.assertEqual(rank["step_ns"], [70_000_000_000] * 2)
        self.assertEqual(recorder.notices, ["steps were not steady after 140 s, there were too few; the capture is of "
                                            "them as they were"])
        self.assertEqual(said, [])

    def test_steady_steps_are_captured_at_once_where_nothing_is_waited_for(self):
        rank, recorder, said = self.waited_for(lambda number: 2 - number / 10, steady_s=0)
        self.assertEqual((len(rank["step_ns"]), rank["steady"], recorder.notices, said), (10, None, [], []))

    def test_a_loop_that_ends_before_its_steps_are_steady(self):
        with self.assertRaises(capture.EndedUnsteady) as caught:
            self.waited_for(lambda number: 0.1, steps=30)
        self.assertEqual(str(caught.exception), "the loop ended after 30 steps, before they were steady and recorded")
        self.assertEqual(list(Path(self.folder).iterdir()), [])
        with self.assertRaises(capture.IncompleteCapture) as caught:
            self.waited_for(lambda number: 0.1, steps=12)
        self.assertNotIsInstance(caught.exception, capture.EndedUnsteady)

    def test_the_third_and_the_fourth_quarter_are_compared(self):
        differ = settling.quarters_differ
        second = 1_000_000_000
        self.assertEqual(differ([2 * second] * 7), float("inf"))
        self.assertEqual(differ([second] * 9), float("inf"))
        self.assertEqual(differ([second] * 10), 0)
        self.assertEqual(differ([9 * second] * 6 + [second] * 6), 0)
        self.assertAlmostEqual(differ([second] * 9 + [1.1 * second] * 3), 0.1)
        self.assertAlmostEqual(differ([second] * 9 + [1.1 * second, 9 * second, 1.1 * second]), 0.1)

    def test_free_steps_do_not_wait_for_the_device(self):
        with mock.patch("understudy.measurements.synchronize") as waits:
            _, rank = record(self.folder, NEEDED, count_faults=False)
            without = waits.call_count
            _, free = record(self.folder, NEEDED + 5, count_faults=False, free=5)
        # There is one wait before the first of them and one after the last.
        self.assertEqual(waits.call_count - without, without + 2)
        self.assertIsNone(rank["free_step_ns"])
        self.assertGreater(free["free_step_ns"], 0)

    def test_a_profile_has_no_more_events_than_it_may(self):
        model = torch.nn.Linear(16, 16)
        recorder, rank = self.capture(lambda: model(torch.ones(4, 16)).sum().backward(), profiled=5, most_events=100, count_faults=False)
        [notice] = [text for text in recorder.notices if " steps profiled" in text]
        self.assertRegex(notice, r"^[1-4] of 5 steps profiled: one has \d+ events, and a profile 100 at most$")
        self.assertEqual(len(rank["kineto_only_steps_ns"]), int(notice[0]))

    def test_a_step_for_each_micro_batch_is_named(self):
        model = torch.nn.Linear(16, 16)
        optimizer = torch.optim.SGD(model.parameters(), 0.1, foreach=False)

        def step():
            model(torch.ones(4, 16)).sum().backward()
            if next(steps) % every == 0:
                optimizer.step()
                optimizer.zero_grad()

        for every, named in ((1, False), (4, True)):
            steps = itertools.count(1)
            recorder, _ = self.capture(step, profiled=5, count_faults=False)
            found = [text for text in recorder.notices if "dissimilar_steps" in text]
            self.assertEqual(len(found), int(named), found)
        self.assertTrue(found[0].startswith("the profiled steps call other operators than the traced one (aten::"))
        self.assertTrue(found[0].endswith("call step() once a whole step, not for each micro-batch"))

    def test_a_killed_build_of_the_backend_holds_no_other_up(self):
        left = Path(self.folder, "understudy_nccl_form", "lock")
        left.parent.mkdir()
        left.touch()
        with mock.patch.dict(os.environ, TORCH_EXTENSIONS_DIR=self.folder), \
                mock.patch("torch.utils.cpp_extension.load", lambda *_, **__: left.exists()):
            self.assertFalse(comms._native.__wrapped__())

    def test_plain_gloo_on_some_ranks_is_named(self):
        def group(ranks, backend):
            return {"pg_name": "1", "backend_config": f"cpu:{backend}", "ranks": ranks}

        self.assertEqual(notices.of_groups([group([0, 1], "gloo"), group([0], "nccl_form"), group([], "gloo")], 2), [])
        self.assertEqual(notices.of_groups([group([0, 1], "gloo"), group([0], "gloo")], 2), [
            "plain Gloo on 1 group of some ranks: it records no group, so generate takes such a collective as all "
            "ranks' (assumed_communication); capture with --comms nccl-form, or use_nccl_form()"])

    def test_waits_of_a_gpu_are_shown_for_what_they_are(self):
        from torch._C._profiler import _ExperimentalConfig
        self.assertEqual(threads.settings().__getstate__(), _ExperimentalConfig().__getstate__())
        with mock.patch.object(torch.cuda, "is_available", return_value=True):
            self.assertEqual(threads.settings().__getstate__(),
                             _ExperimentalConfig(enable_cuda_sync_events=True).__getstate__())

    def test_a_gpu_is_described_by_its_driver(self):
        nvml = Path(__file__).resolve().parents[2] / "build/release/tests/libunderstudy_fake_nvml.so"
        if not nvml.exists():
            self.skipTest("the driver's stand-in is not built")
        self.assertIsNone(machine.describe_gpu())
        with mock.patch.object(torch.cuda, "is_available", return_value=True), \
                mock.patch.object(machine, "_nccl_version", return_value="2.28.9"), \
                mock.patch.object(torch.backends.cudnn, "version", return_value=91300), \
                mock.patch.dict("os.environ", {"UNDERSTUDY_NVML": str(nvml)}):
            self.assertEqual(machine.describe_gpu(), {
                "cudnn": 91300, "nccl": "2.28.9", "driver": "580.65.06", "sm_mhz": 1980, "memory_mhz": 2619,
                "most_sm_mhz": 1980, "power_limit_w": 700})
            with mock.patch.dict("os.environ", {"UNDERSTUDY_NVML": "/no/such.so"}):
                self.assertIn("/no/such.so", machine.describe_gpu()["no_nvml"])

    def test_with_a_gpu_a_profile_is_written_before_the_next_one_frees_its_device_events(self):
        class Profiler(contextlib.nullcontext):
            def export_chrome_trace(self, path):
                done.append("written")
                Path(path).write_text("{}")

        for has_gpu, expected in ((True, ["ended", "written", "next", "packed"]), (False, ["ended", "next", "written", "packed"])):
            done = []
            output = mock.Mock(file=lambda name: Path(self.folder) / name)
            with mock.patch.object(records, "kineto", lambda *_: Profiler()), \
                    mock.patch.object(torch.cuda, "is_available", lambda: has_gpu), \
                    mock.patch.object(records, "synchronize", lambda: done.append("ended")):
                kept = records.Records(output)
                kept.keep = lambda *_: done.append("packed")
                kept.begin_profile("kineto_only")
                kept.end()
                done.append("next")
                kept.write_profiles()
            self.assertEqual(done, expected)
            for raw in Path(self.folder).iterdir():
                raw.unlink()

    def test_what_decides_kernels_is_recorded(self):
        before = torch.get_float32_matmul_precision()
        self.addCleanup(torch.set_float32_matmul_precision, before)
        torch.set_float32_matmul_precision("high")
        with mock.patch.dict("os.environ", {"NCCL_ALGO": "Ring", "NCCL_TOPO_FILE": "/a/path",
                                            "CUBLAS_WORKSPACE_CONFIG": ":16:8"}):
            _, rank = record(self.folder, NEEDED)
        settings, variables = rank["kernel_settings"], rank["environment"]["variables"]
        self.assertEqual(settings["float32_matmul_precision"], "high")
        self.assertEqual(settings["deterministic_algorithms"], "off")
        self.assertEqual(settings["threads"], str(torch.get_num_threads()))
        self.assertIn(settings["sdp.flash"], ("on", "off"))
        self.assertTrue(all(isinstance(value, str) for value in settings.values()))
        self.assertEqual((variables["NCCL_ALGO"], variables["CUBLAS_WORKSPACE_CONFIG"]),
                         ("Ring", ":16:8"))
        self.assertNotIn("NCCL_TOPO_FILE", variables)
        self.assertEqual(rank["autocast"], [])

    def test_none_of_what_decides_kernels_is_missing(self):
        self.assertEqual(set(kernels.kernel_settings()), {
            "float32_matmul_precision", "fp32_precision.cuda.matmul", "fp32_precision.cuda.conv",
            "fp32_precision.cuda.rnn", "fp32_precision.mkldnn.matmul", "fp32_precision.mkldnn.conv",
            "fp32_precision.mkldnn.rnn", "fp16_reduction", "bf16_reduction", "fp16_accumulation",
            "cudnn.enabled", "cudnn.benchmark", "cudnn.benchmark_limit", "cudnn.deterministic",
            "mkldnn.enabled", "mkldnn.deterministic", "sdp.flash", "sdp.mem_efficient", "sdp.math",
            "sdp.cudnn", "sdp.priority", "blas_library", "deterministic_algorithms", "threads"})
        variables = dict.fromkeys((
            "CUBLAS_WORKSPACE_CONFIG", "CUDNN_CONV_WSCAP_DBG", "NCCL_ALGO", "TORCH_NCCL_ASYNC_ERROR_HANDLING",
            "TORCH_BLAS_PREFER_CUBLASLT", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF",
            "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_LAUNCH_BLOCKING", "NVIDIA_TF32_OVERRIDE",
            "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "KMP_AFFINITY",
            "MALLOC_ARENA_MAX", "TORCH_NUM_THREADS"), "1")
        with mock.patch.dict("os.environ", {**variables, "HOME": "x", "PATH": "x"}, clear=True):
            self.assertEqual(kernels.kernel_variables(), variables)

    def test_what_names_things_of_this_host_stays_here(self):
        own = {"NCCL_SOCKET_IFNAME": "eth7", "NCCL_IB_HCA": "mlx5_0", "NCCL_COMM_ID": "10.0.0.1:99"}
        with mock.patch.dict("os.environ", {**own, "NCCL_PROTO": "LL"}, clear=True):
            self.assertEqual(kernels.kernel_variables(),
                             {**dict.fromkeys(own, "kept on its host"), "NCCL_PROTO": "LL"})
        table = Path(__file__).resolve().parents[2] / "et_schema/model/src/comm_traits.cpp"
        listed = re.search(r"kNcclTuning =([^;]*);", table.read_text())[1]
        self.assertEqual(kernels.NCCL_TUNING, {
            f"NCCL_{name}" for name in "".join(re.findall('"([^"]*)"', listed)).split()})

    def test_autocast_regions_of_profiled_steps_are_seen(self):
        model = torch.nn.Linear(16, 16)
        _, rank = self.capture(torch.autocast("cpu", torch.bfloat16)(lambda: model(torch.ones(4, 16)).sum().backward()))
        self.assertEqual(rank["autocast"], ["cpu:bfloat16"])

    def test_of_integers_in_a_wrapper_no_range_is_asked(self):
        for wrapped, asks in ((torch.ones(2), True), (torch.ones(2, dtype=torch.long), False)):
            recorder, _ = self.capture(lambda: Wrapper(wrapped) + 1, timed=0, profiled=0)
            self.assertEqual(recorder.tensor_range, asks)

    def test_of_integers_without_a_minimum_no_range_is_asked(self):
        state = torch.arange(4).to(torch.uint64)
        recorder, _ = self.capture(state.clone, timed=0, profiled=0)
        self.assertFalse(recorder.tensor_range)
        self.assertEqual(recorder.notices, ["no ranges of integers: torch has no minimum of unsigned "
                                            "ones, which the step uses"])
        nodes = json.loads(gzip.decompress(Path(self.folder, "rank-0.et.json.gz").read_bytes()))["nodes"]
        (node,) = [node for node in nodes if node["name"] == "aten::clone"]
        self.assertEqual(len(node["inputs"]["values"]), 2)  # the observer lost what comes after it

    def test_the_devices_peak_is_that_of_timed_steps(self):
        with mock.patch.object(capture.machine, "peak_device_bytes", side_effect=[20, 30, 99]), \
                mock.patch.object(capture.machine, "reset_device_peak") as reset:
            _, rank = self.capture(lambda: torch.ones(4) + 1, timed=2, indices=False, count_faults=False)
        self.assertEqual(reset.call_count, 2)
        self.assertEqual(rank["peak_device_bytes"], 30)

    def test_a_layout_that_ends_the_observer_is_refused(self):
        matrix = torch.eye(4).to_sparse_csr()
        jagged = torch.nested.nested_tensor([torch.ones(2, 1, 4), torch.ones(3, 1, 4)], layout=torch.jagged).transpose(1, 2)
        steps = {
            lambda: matrix @ torch.ones(4, 2):
                "the step uses a sparse tensor of the layout torch.sparse_csr, which torch's execution trace observer "
                "cannot record; make it one of torch.sparse_coo (Tensor.to_sparse_coo()), or capture without a trace "
                "(--no-trace)",
            lambda: torch.nn.functional.scaled_dot_product_attention(jagged, jagged, jagged):
                "the step uses a nested tensor of the strided layout, which torch's execution trace observer cannot "
                "record; make it one of layout=torch.jagged and, on a CPU, pad it for torch's attention "
                "(torch.nested.to_padded_tensor, and a mask), which makes strided ones of jagged ones there, or capture without a "
                "trace (--no-trace)"}
        for step, message in steps.items():
            with self.assertRaises(capture.CaptureFailed) as caught:
                self.capture(step, timed=0, profiled=0)
            self.assertIn(message, str(caught.exception))
            self.assertEqual(list(Path(self.folder).iterdir()), [])

    def test_a_capture_has_an_id_and_tells_its_trace_from_others_of_its_name(self):
        ids, marks = set(), set()
        for _ in range(2):
            with tempfile.TemporaryDirectory() as folder:
                _, rank = record(folder, NEEDED)
                whole = json.loads((Path(folder) / "capture.json").read_text())
                trace = json.loads(gzip.decompress(
                    (Path(folder) / "rank-0.et.json.gz").read_bytes()))
                self.assertEqual(rank["trace"],
                                 {"pid": trace["pid"], "start_ts": trace["start_ts"]})
                self.assertRegex(whole["id"], "^[0-9a-f]{16}$")
                ids.add(whole["id"])
                marks.add((rank["trace"]["pid"], rank["trace"]["start_ts"]))
        self.assertEqual((len(ids), len(marks)), (2, 2))

    def test_an_observer_that_stopped_is_told(self):
        files = records.Records(None)
        files.nodes = 12
        with self.assertRaises(RuntimeError) as caught:
            files.check_observed(events=3000)
        self.assertIn("12 nodes of a step of 3000 events", str(caught.exception))
        files.check_observed(events=13)


if __name__ == "__main__":
    unittest.main()
