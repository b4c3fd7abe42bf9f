"""Tests scripts/check_gpu without a GPU: what it writes, what it calls a failure, what it starts."""

import importlib.util
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "capture"))
from understudy.gpu import command, profiles, run, samples  # noqa: E402
from understudy.gpu.checks import CHECKS  # noqa: E402
from understudy.gpu.layout import CHECK_S, OWN_BIN, START_RANKS  # noqa: E402
from understudy.gpu.machine import Failed, Findings, Machine  # noqa: E402


def row(name, mismatches=0):
    return {"name": name, "original_ms": 2.0, "asap_ms": 1.0, "paced_ms": 2.1, "device_ms": 0.9,
            "original_peak_bytes": 1000, "peak_bytes": 1010, "coverage": 1.0,
            "mismatches": mismatches, "unhealthy": 0, "energy_j_per_iteration": None,
            "mean_power_w": None, "clocks": "steady",
            "environment": {"versions": {"torch": "2.11.0"}, "cpu_model": "a CPU"}}


def passed(**figures):
    return {"status": "passed", "reason": "", "figures": figures, "tests": []}


class CheckGpuTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name) / "out"
        self.work = Path(folder.name) / "work"
        self.out.mkdir()
        self.work.mkdir()
        self.machine = Machine.__new__(Machine)
        self.machine.bin, self.machine.python, self.machine.device = Path("bin"), "python3", "cuda"
        self.machine.facts, self.machine.environment = {"gpu": "A GPU", "gpus": 1}, dict(os.environ)

    def check(self, examine, names):
        with mock.patch.object(run, "run_one", lambda _machine, name, _work, limit_s: examine(name)), \
                mock.patch.object(sys, "stderr"):
            return run.check(self.machine, names, self.out, self.work, minutes=1)

    def test_writes_what_it_has_after_each_check(self):
        seen = []

        def examine(name):
            written = self.out / "check_gpu.json"
            seen.append(len(json.loads(written.read_text())["checks"]) if written.exists() else None)
            return passed(depth=1022) if name.startswith("check") else row(name.split(" ")[1])

        document = self.check(examine, ["facts", "times", "mlp", "resnet_ddp"])
        self.assertEqual(seen, [None, 1, 2, 2, 2])
        self.assertEqual([row["name"] for row in document["moved"]], ["mlp"])
        self.assertEqual([row["name"] for row in document["recorded"]], ["resnet_ddp"])
        self.assertEqual(document["failures"], {})
        text = next(self.out.glob("gpu-a-gpu-*.md")).read_text()
        self.assertIn("| mlp | 2.000 | 1.000 (-50.0 %) | 2.100 (+5.0 %) | 1,010 (+1.0 %) |", text)
        self.assertRegex(text, r"\| times \| passed \| 0\.0 \| depth 1,022 \|  \|")

    def test_all_is_in_three_files(self):
        def examine(_name):
            (self.work / "report.json").write_text("{}")
            (self.work / "large").write_bytes(os.urandom(run.ARCHIVE_BYTES + 1))
            (self.work / "zeros").write_bytes(bytes(run.ARCHIVE_BYTES + 1))
            return passed()

        document = self.check(examine, ["facts"])
        self.assertEqual(len(list(self.out.iterdir())), 3)
        with tarfile.open(self.out / run.ARCHIVE) as tar:
            self.assertEqual(tar.getnames(), ["report.json", "zeros"])
        self.assertEqual(document["left_out"], {"large": run.ARCHIVE_BYTES + 1})
        self.assertIn("- large is not in the archive: 15,728,641 bytes",
                      next(self.out.glob("*.md")).read_text())

    def test_other_outputs_fail_what_was_captured_here_alone(self):
        document = self.check(lambda name: row(name.split(" ")[1], mismatches=3), ["mlp"])
        self.assertEqual(document["failures"],
                         {"trained mlp": "3 outputs differ from the recorded ones"})
        self.assertEqual(document["moved"][0]["mismatches"], 3)

    def test_what_fails_is_named_and_the_others_go_on(self):
        def examine(name):
            return {"failed": "replay: out of memory"} if "mlp" in name or "facts" in name \
                else row(name.split(" ")[1])

        document = self.check(examine, ["facts", "mlp", "resnet18"])
        self.assertEqual(document["failures"], dict.fromkeys(
            ["check facts", "trained mlp", "moved mlp"], "replay: out of memory"))
        self.assertEqual(len(document["trained"]), 1)
        self.assertEqual(document["checks"][0]["status"], "failed")

    def test_a_finding_says_what_was_expected(self):
        findings = Findings()
        findings.expect("peak", False, "1", "2")
        findings.within("time, ms", 1.2, 1.0, 0.1)
        findings.within("time again, ms", 1.05, 1.0, 0.1)
        found = findings.to_row()
        self.assertEqual((found["status"], found["reason"]),
                         ("failed", "peak: expected 1, got 2; time, ms: expected 1 ± 0.1, got 1.2"))

    def test_a_check_brings_those_whose_files_it_reads(self):
        self.assertEqual(run.plan(["kernels"]), ["check gpt", "check kernels"])
        self.assertEqual(run.plan([])[:len(CHECKS)], [f"check {name}" for name in CHECKS])

    def test_each_check_is_there_and_says_why_a_cpu_has_none(self):
        for name, each in CHECKS.items():
            module, _, function = each.place.partition(".")
            spec = importlib.util.find_spec(f"understudy.gpu.checks.{module}")
            self.assertIn(f"\ndef {function}(", Path(spec.origin).read_text(), name)
            self.assertTrue(all(list(CHECKS).index(need) < list(CHECKS).index(name)
                                for need in each.needs), name)
        self.assertLessEqual(CHECK_S, 60)

    def run_one(self, script, limit_s=30):
        """A stand-in for the Python that a check runs in: a shell script."""
        stand_in = self.work / "python"
        stand_in.write_text("#!/bin/sh\n" + script)
        stand_in.chmod(0o755)
        self.machine.python = str(stand_in)
        return run.run_one(self.machine, "check facts", self.work, limit_s)

    def test_what_a_check_has_started_ends_with_it(self):
        told = self.work / "told"
        found = self.run_one(f'sleep 100 & echo $! > "{told}"; sleep 100\n', limit_s=0.5)
        self.assertEqual(found, {"failed": "it was not done after 0 s"})
        process = Path("/proc") / told.read_text().strip() / "status"
        for _ in range(100):
            if not process.exists() or "State:\tZ" in process.read_text():
                return
            time.sleep(0.05)
        self.fail("it is still there")

    def test_a_check_that_ends_without_a_word_is_named(self):
        self.assertEqual(self.run_one("echo first; echo last words >&2; exit 3"),
                         {"failed": "it ended with status 3: last words"})
        self.assertEqual(self.run_one("", limit_s=-1), {"failed": "the time was up before it"})

    def test_one_of_several_gpus_is_chosen_by_the_environment(self):
        words = ["check_gpu", "--device", "cuda:1", "--no-build"]
        with mock.patch.object(sys, "argv", words), mock.patch("sys.stderr", io.StringIO()) as said:
            with self.assertRaises(SystemExit) as ended:
                command.main()
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

        def check(ranks, device):
            captured.clear()
            replayed.clear()
            self.machine.device, self.machine.facts = device, {"gpu": "A GPU", "gpus": ranks}
            self.machine.replay = lambda bench, target, *more, launcher=(): (
                replayed.append((list(launcher), list(more[len(samples.ITERATIONS):]))), self.report())[1]
            folder = self.out / "gpt_ddp"

            def start(*words, environment=None):
                captured.append([str(word) for word in words])
                folder.mkdir(exist_ok=True)
                (folder / "capture.json").write_text(json.dumps(
                    {"ranks": [{"step_ns": [1e6, 2e6, 9e6], "peak_device_bytes": 7}]}))
                return subprocess.CompletedProcess(words, 0, "", "")

            self.machine.start = start
            return samples.check_ranks(self.machine, "gpt_ddp", self.out)

        found = check(4, "cuda")
        self.assertEqual(captured[0][:7], ["python3", "-m", "torch.distributed.run", "--standalone",
                                           "--nproc-per-node", "4", str(ROOT / "scripts" / "capture")])
        launcher = [START_RANKS, 4]
        self.assertEqual(replayed, [(launcher, ["--pace", "asap", "--comms", "nccl"]),
                                    (launcher, ["--pace", "recorded", "--comms", "nccl"])])
        self.assertEqual((found["name"], found["original_ms"], found["communication_ms"], found["comms"]),
                         ("gpt_ddp, 4 ranks", 2, 5, "nccl"))
        self.assertEqual(check(1, "cuda")["name"], "gpt_ddp, 1 rank")
        self.assertEqual(replayed[0], ([], ["--pace", "asap", "--comms", "nccl"]))
        check(2, "cpu")
        self.assertEqual(replayed[0], ([START_RANKS, 2], ["--pace", "asap"]))

    def test_what_it_builds_has_the_modules_that_its_programs_load(self):
        build = ROOT / "build" / "release"
        if not (build / "build.ninja").exists():
            self.skipTest("build/release is not configured")
        modules = {path.name for path in (build / "lib/understudy").glob("understudy_backend_*.so")}
        listed = subprocess.run(["ninja", "-C", build, "-t", "query", "programs"],
                                capture_output=True, text=True, check=True)
        built = {Path(line.strip()).name for line in listed.stdout.splitlines()}
        self.assertEqual({*modules, "libunderstudy_allocations.so"} - built, set())

    def test_each_stored_sample_is_a_job_that_generate_takes(self):
        started = []
        self.machine.run = lambda *words: started.append(words)
        self.machine.replay = lambda *_: self.report()
        for name in [*samples.MOVED, *samples.RECORDED]:
            samples.check_stored(self.machine, name, self.out)
        generate = OWN_BIN / "generate"
        if not generate.exists():
            self.skipTest("generate is not built")
        for words in started:
            target = self.out / "bench.et"
            done = subprocess.run([generate, *map(str, words[1:2]), "-o", target],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_command_that_fails_says_why(self):
        with self.assertRaises(Failed) as caught:
            self.machine.run("sh", "-c", "echo one >&2; echo two >&2; exit 1")
        self.assertEqual(str(caught.exception), "sh: one | two")
        with self.assertRaises(Failed) as caught:
            self.machine.run("sh", "-c", "echo 'a warning' >&2; python3 -c 'raise ValueError(1)'")
        self.assertEqual(str(caught.exception), "sh: ValueError: 1")


class ProfilesTest(unittest.TestCase):
    def test_a_step_is_found_in_order_and_whole(self):
        self.assertEqual(profiles.find(list("abc"), list("xabcabcab")), (2, 3))
        self.assertEqual(profiles.find(list("abc"), list("xabab")), (0, 2))
        self.assertEqual(profiles.find(list("abc"), []), (0, 0))

    def test_kernels_differ_by_grid_and_operators_by_name(self):
        def event(name, begin, duration, **args):
            return {"name": name, "ts": begin, "dur": duration, "args": args}

        kernels = [event("k", 0, 1, grid=[1, 1, 1], block=[32, 1, 1])]
        self.assertNotEqual(profiles.named(kernels, True),
                            profiles.named([event("k", 0, 1, grid=[2, 1, 1], block=[32, 1, 1])], True))
        nested = [event("aten::linear", 0, 10), event("aten::t", 1, 2), event("aten::addmm", 4, 5),
                  event("AddBackward0", 11, 1), event("aten::mm", 12, 1)]
        self.assertEqual(profiles.named(nested, False), [("addmm",), ("mm",)])


if __name__ == "__main__":
    unittest.main()
