"""scripts/check_gpu without a GPU: what it writes, what it calls a failure, what it starts."""

import importlib.machinery
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import types
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]


def load():
    loader = importlib.machinery.SourceFileLoader("check_gpu", str(ROOT / "scripts" / "check_gpu"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_gpu", loader))
    loader.exec_module(module)
    return module


def row(name, mismatches=0):
    return {"name": name, "original_ms": 2.0, "asap_ms": 1.0, "paced_ms": 2.1, "device_ms": 0.9,
            "original_peak_bytes": 1000, "peak_bytes": 1010, "coverage": 1.0,
            "mismatches": mismatches, "unhealthy": 0, "energy_j_per_iteration": None,
            "mean_power_w": None, "clocks": "steady",
            "environment": {"versions": {"torch": "2.11.0"}, "cpu_model": "a CPU"}}


class CheckGpuTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name)
        self.check_gpu = load()
        self.machine = types.SimpleNamespace(device="cuda", facts={"gpu": "A GPU"},
                                             deadline=time.monotonic() + 100)

    def check(self, examine, names):
        sections = {section: (title, examine, *rest)
                    for section, (title, _, *rest) in self.check_gpu.SECTIONS.items()}
        with mock.patch.object(self.check_gpu, "SECTIONS", sections), \
                mock.patch.object(sys, "stderr"):
            return self.check_gpu.check(self.machine, names, self.out)

    def test_writes_what_it_has_after_each_sample(self):
        seen = []

        def examine(_, name, out):
            written = out / "check_gpu.json"
            seen.append(json.loads(written.read_text())["trained"] if written.exists() else None)
            return row(name)

        document = self.check(examine, ["mlp", "resnet_ddp"])
        self.assertEqual([found and len(found) for found in seen], [None, 1, 1])
        self.assertEqual([row["name"] for row in document["moved"]], ["mlp"])
        self.assertEqual([row["name"] for row in document["recorded"]], ["resnet_ddp"])
        self.assertEqual(document["failures"], {})
        text = next(self.out.glob("gpu-a-gpu-*.md")).read_text()
        self.assertIn("| mlp | 2.000 | 1.000 (-50.0 %) | 2.100 (+5.0 %) | 1,010 (+1.0 %) |", text)

    def test_other_outputs_fail_what_was_captured_here_alone(self):
        document = self.check(lambda _, name, out: row(name, mismatches=3), ["mlp"])
        self.assertEqual(document["failures"],
                         {"trained mlp": "3 outputs differ from the recorded ones"})
        self.assertEqual(document["moved"][0]["mismatches"], 3)

    def test_a_sample_that_does_not_run_is_named_and_the_others_go_on(self):
        def examine(_, name, out):
            if name == "mlp":
                raise self.check_gpu.Failed("replay: out of memory")
            return row(name)

        document = self.check(examine, ["mlp", "resnet18"])
        self.assertEqual(document["failures"], {"trained mlp": "replay: out of memory",
                                                "moved mlp": "replay: out of memory"})
        self.assertEqual(len(document["trained"]), 1)

    def test_one_of_several_gpus_is_chosen_by_the_environment(self):
        words = ["check_gpu", "--device", "cuda:1", "--no-build"]
        with mock.patch.object(sys, "argv", words), mock.patch("sys.stderr", io.StringIO()) as said:
            with self.assertRaises(SystemExit) as ended:
                self.check_gpu.main()
        self.assertEqual(ended.exception.code, 2)
        self.assertIn("argument --device: invalid choice: 'cuda:1' (choose from 'cuda', 'cpu')",
                      said.getvalue())

    def report(self):
        return {"ranks": [{}], "memory": {"peak_bytes": 1}, "iteration_ms": {"median": 1},
                "operators": [{"class": "matmul", "ms": 1}, {"class": "communication", "ms": 2},
                              {"class": "communication", "ms": 3}],
                "coverage": {"count": 1}, "output_mismatches": 0,
                "values": {"nan": 0, "inf": 0, "subnormal": 0},
                "environment": {"settings": {"comms": "nccl"}}}

    def test_ranks_are_launched_for_the_capture_and_for_the_replays(self):
        captured, replayed = [], []

        def run(*words, environment=None):
            captured.append([str(word) for word in words])

        def replay(bench, target, *more, launcher=()):
            replayed.append((list(launcher), list(more)))
            return self.report()

        def check(ranks, device):
            captured.clear()
            replayed.clear()
            machine = types.SimpleNamespace(python="python3", bin=Path("bin"), device=device,
                                            run=run, replay=replay, ranks=lambda: ranks)
            (self.out / "gpt_ddp").mkdir(exist_ok=True)
            (self.out / "gpt_ddp" / "capture.json").write_text(json.dumps(
                {"ranks": [{"step_ns": [1e6, 2e6, 9e6], "peak_device_bytes": 7}]}))
            with mock.patch.object(self.check_gpu.shutil, "rmtree"):
                return self.check_gpu.check_ranks(machine, "gpt_ddp", self.out)

        row = check(4, "cuda")
        self.assertEqual(captured[0][:7], ["python3", "-m", "torch.distributed.run", "--standalone",
                                           "--nproc-per-node", "4", "scripts/capture"])
        launcher = ["scripts/mpirun", "-np", 4]
        self.assertEqual(replayed, [(launcher, ["--pace", "asap", "--comms", "nccl"]),
                                    (launcher, ["--pace", "recorded", "--comms", "nccl"])])
        self.assertEqual((row["name"], row["original_ms"], row["communication_ms"], row["comms"]),
                         ("gpt_ddp, 4 ranks", 2, 5, "nccl"))
        self.assertEqual(check(1, "cuda")["name"], "gpt_ddp, 1 rank")
        self.assertEqual(replayed[0], ([], ["--pace", "asap", "--comms", "nccl"]))
        check(2, "cpu")
        self.assertEqual(replayed[0], (["scripts/mpirun", "-np", 2], ["--pace", "asap"]))

    def test_what_it_builds_has_the_modules_that_its_programs_load(self):
        build = ROOT / "build" / "release"
        if not (build / "build.ninja").exists():
            self.skipTest("build/release is not configured")
        modules = {path.name for path in (build / "lib/understudy").glob("understudy_backend_*.so")}
        listed = subprocess.run(["ninja", "-C", build, "-t", "query", "programs"],
                                capture_output=True, text=True, check=True)
        built = {Path(line.strip()).name for line in listed.stdout.splitlines()}
        self.assertEqual(modules - built, set())

    def test_each_stored_sample_is_a_job_that_generate_takes(self):
        started = []
        self.machine.bin = Path("bin")
        self.machine.run = lambda *words: started.append(words)
        self.machine.replay = lambda *_: self.report()
        for name in [*self.check_gpu.MOVED, *self.check_gpu.RECORDED]:
            self.check_gpu.check_stored(self.machine, name, self.out)
        generate = os.environ.get("UNDERSTUDY_GENERATE",
                                  str(ROOT / "build" / "release" / "bin" / "generate"))
        if not Path(generate).exists():
            self.skipTest("generate is not built")
        for words in started:
            target = self.out / "bench.et"
            done = subprocess.run([generate, *map(str, words[1:2]), "-o", target],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_carried_libraries_are_for_the_programs_and_not_for_python(self):
        environments = []

        def run(words, env, **_):
            environments.append((words[0], env.get("LD_LIBRARY_PATH")))
            return subprocess.CompletedProcess(words, 0, "", "")

        machine = self.check_gpu.Machine.__new__(self.check_gpu.Machine)
        machine.bin, machine.python, machine.device = Path("carry/bin"), "python3", "cuda"
        machine.deadline = time.monotonic() + 100
        machine.environment = {**os.environ, "LD_LIBRARY_PATH": "carry/lib"}
        (self.out / "capture.json").write_text('{"ranks": [{}]}')
        with mock.patch.object(self.check_gpu.subprocess, "run", run), \
                mock.patch.object(self.check_gpu.shutil, "rmtree"):
            self.check_gpu.capture(machine, "mlp", self.out)
            machine.run("carry/bin/generate")
        own = os.environ.get("LD_LIBRARY_PATH")
        self.assertEqual(environments, [("python3", own), ("carry/bin/generate", "carry/lib")])

    def test_no_command_runs_past_its_time(self):
        machine = self.check_gpu.Machine.__new__(self.check_gpu.Machine)
        machine.environment = dict(os.environ)
        for left_s, command, message in ((-1, "true", "the time was up before it"),
                                         (0.2, "sleep", "sleep: the time was up under way")):
            machine.deadline = time.monotonic() + left_s
            with self.assertRaises(self.check_gpu.Failed) as caught:
                machine.run(command, 60)
            self.assertEqual(str(caught.exception), message)

    @unittest.skipUnless((ROOT / "build" / "release" / "bin" / "replay").exists(), "nothing is built")
    def test_what_is_packed_runs_with_what_the_system_and_libtorch_have(self):
        with mock.patch.object(sys, "stderr"):
            self.check_gpu.pack(self.out)
        self.assertEqual({path.name for path in (self.out / "bin").iterdir()}, {"inspect", "generate", "replay", "compare"})
        packed = sorted(path.name for path in (self.out / "lib" / "understudy").iterdir())
        built = (self.check_gpu.OWN_BIN.parent / "lib" / "understudy").glob("*.so")
        self.assertEqual(packed, sorted(path.name for path in built))
        listed = subprocess.run(["ldd", self.out / "bin" / "inspect"], capture_output=True, text=True, check=True,
                                env={"LD_LIBRARY_PATH": str(self.out / "lib")}).stdout
        for line in listed.splitlines():
            if "=> /" in line and not self.check_gpu.SYSTEM.search(line):
                self.assertIn(str(self.out / "lib"), line)
        done = subprocess.run([self.out / "bin" / "inspect", "--version"], capture_output=True, text=True, check=True,
                              env={"LD_LIBRARY_PATH": str(self.out / "lib")})
        self.assertRegex(done.stdout, r"^inspect \d")


if __name__ == "__main__":
    unittest.main()
