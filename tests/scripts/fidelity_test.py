"""Tests the limits of a fidelity run: each gate by itself, with made-up rounds."""

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "capture"), str(ROOT / "tests")]
from understudy import endings  # noqa: E402
from fidelity import command, limits, rounds, tables  # noqa: E402

ROUNDS = 6
SETTINGS = argparse.Namespace(rounds=ROUNDS, threads=1, steps=20, profiled=7, limit=0.03, json=None,
                              keep=None)


def in_words(document):
    """The text of the tables with single blanks."""
    return " ".join(tables.to_text(document).split())


def a_replay():
    return {"iteration_ms": 100.0, "operators_ms": 80.0, "recorded_operators_ms": 80.0,
            "speed_probe_ms": 0.1, "profiled_speed_probe_ms": 0.1,
            "classes": {"matmul": {"original_ms": 50.0, "replay_ms": 50.0},
                        "copy": {"original_ms": 30.0, "replay_ms": 30.0}},
            "pace": {"paced": 10, "on_time": 9, "unready": 1, "error_median_us": 0.1,
                     "error_p99_us": 2.0, "unready_ms": 0.1, "drift_end_us": 12.5},
            "counters": {"minor_faults": 7.0, "cpu_ms": 99.0},
            "values": {"nan": 0, "inf": 0, "subnormal": 0}, "output_mismatches": 0, "losses": {},
            "coverage": {"count": 1.0, "time": 1.0, "opened_time": 0.0}, "memory": {"peak_bytes": 1000}}


def a_round():
    return {"original": {"step_ms": 100.0, "speed_probe_ms": 0.1, "profiled_speed_probe_ms": 0.1,
                         "counters": {"recorded": {"minor_faults": 11, "cpu_ms": 98.0}, "asap": {"minor_faults": 22}}},
            "recorded": a_replay(), "asap": a_replay(), "disturbed": False}


def a_sample(change=None, peak=1000, name="mlp", ranks=1):
    """Rounds to each of which `change` is applied."""
    figures = [a_round() for _ in range(ROUNDS)]
    for number, item in enumerate(figures):
        if change is not None:
            change(number, item)
    return rounds.result_of(argparse.Namespace(name=name, ranks=ranks), SETTINGS, figures, peak)


def gates(sample, limit=0.03):
    return {(miss["gate"], miss["reason"]) for miss in limits.misses([sample], limit)}


def slower(pace, key, factor, speed_probe=None):
    def change(_number, item):
        item[pace][key] *= factor
        if speed_probe is not None:
            item[pace][speed_probe] *= factor
    return change


class GatesTest(unittest.TestCase):
    def test_a_good_sample_misses_nothing(self):
        self.assertEqual(gates(a_sample()), set())

    def test_a_replay_that_is_too_slow_misses_by_both_measures(self):
        self.assertEqual(gates(a_sample(slower("recorded", "iteration_ms", 1.1))), {
            ("recorded ratio", "paced iteration, normalised for machine speed: ratio 1.100, limit 1 "
                               "± 0.03"),
            ("recorded plain_ratio", "paced iteration, by the clock: ratio 1.100, limit 1 ± 0.03")})

    def test_a_slower_machine_misses_by_the_clock_alone(self):
        change = slower("recorded", "iteration_ms", 1.1, "speed_probe_ms")
        self.assertEqual({gate for gate, _ in gates(a_sample(change))}, {"recorded plain_ratio"})

    def test_a_speed_probe_that_hides_a_difference_does_not_pass(self):
        """By the clock all is well, but the machine was faster beside the replay."""
        def change(_number, item):
            item["recorded"]["speed_probe_ms"] *= 0.9
        self.assertEqual({gate for gate, _ in gates(a_sample(change))}, {"recorded ratio"})

    def test_coverage_in_each_round_and_under_each_pace(self):
        for pace in ("recorded", "asap"):
            for by, shown in (("count", "99.00%"), ("time", "99.00%")):
                def change(number, item):
                    if number == 2:
                        item[pace]["coverage"][by] = 0.99
                self.assertEqual(gates(a_sample(change)), {
                    ("coverage", f"round 3, --pace {pace}: coverage by {by} {shown}, limit 99.9%")})

    def test_opened_operators_own_time_does_not_count_against_coverage(self):
        def change(number, item):
            item["asap"]["coverage"].update(time=0.9975, opened_time=0.0024)
        self.assertEqual(gates(a_sample(change)), set())
        def too_little(number, item):
            if number == 0:
                item["asap"]["coverage"].update(time=0.99, opened_time=0.0024)
        self.assertEqual(gates(a_sample(too_little)), {
            ("coverage", "round 1, --pace asap: coverage by time 99.00% (and 0.24% of opened "
                         "operators' own and between operators), limit 99.9%")})

    def test_coverage_that_is_not_known(self):
        def change(number, item):
            if number == 0:
                item["asap"]["coverage"]["time"] = None
        self.assertEqual(gates(a_sample(change)), {
            ("coverage", "round 1, --pace asap: coverage by time is not known: no profile is "
                         "linked")})

    def test_value_health_in_each_round_and_under_each_pace(self):
        for pace in ("recorded", "asap"):
            for kind in ("nan", "inf", "subnormal"):
                def change(number, item):
                    if number == 0:
                        item[pace]["values"][kind] = 3
                self.assertEqual(gates(a_sample(change)), {
                    ("values", f"round 1, --pace {pace}: 3 tensors with {kind} elements")})

    def test_output_mismatches(self):
        def change(number, item):
            if number == 4:
                item["recorded"]["output_mismatches"] = 2
        self.assertEqual(gates(a_sample(change)), {
            ("outputs", "round 5, --pace recorded: 2 outputs differ from the trace")})

    def test_a_round_that_falls_back_to_the_old_profile(self):
        def change(number, item):
            if number == 1:
                item["asap"]["losses"] = {"unlinked_profile": 1}
        self.assertEqual(gates(a_sample(change)), {
            ("profile", "round 2, --pace asap: the round's own profile fits none of the trace's "
                        "steps: recorded times are the capture's old ones")})

    def test_classes_that_make_up_for_each_other(self):
        def change(_number, item):
            item["asap"]["classes"]["matmul"]["replay_ms"] += 4
            item["asap"]["classes"]["copy"]["replay_ms"] -= 4
        self.assertEqual(gates(a_sample(change)), {
            ("classes", "time by class: differences add up to 8.0% of the step, limit 6%; most in "
                        "matmul +4.00 ms, copy -4.00 ms")})

    def test_memory(self):
        self.assertEqual(gates(a_sample(peak=1100)), {
            ("memory", "peak of live tensor bytes: 1000 against 1100, limit 5%")})

    def test_the_average_of_all(self):
        samples = [a_sample(slower("recorded", "iteration_ms", 1.025), name=name)
                   for name in ("mlp", "resnet18")]
        self.assertEqual([(miss["sample"], miss["gate"]) for miss in limits.misses(samples, 0.03)],
                         [(None, "recorded ratio"), (None, "recorded plain_ratio")])
        self.assertEqual(limits.misses(samples[:1], 0.03), [])

    def test_a_figure_that_is_no_number_misses(self):
        def change(_number, item):
            item["recorded"]["iteration_ms"] = float("nan")
        self.assertIn("recorded plain_ratio", {gate for gate, _ in gates(a_sample(change))})


class TablesTest(unittest.TestCase):
    def document(self, sample, incomplete=None):
        return command.make_document(SETTINGS, [sample], [], incomplete)

    def test_every_form_names_each_miss_with_its_reason(self):
        def change(number, item):
            if number == 1:
                item["asap"]["values"]["nan"] = 1
        document = self.document(a_sample(change))
        miss = "mlp: round 2, --pace asap: 1 tensors with nan elements"
        self.assertEqual(json.loads(json.dumps(document))["misses"], [miss])
        self.assertIn(f"\nMISSED  {miss}\n", tables.to_text(document) + "\n")
        self.assertIn("mlp MISSED ok MISSED (1) ok", in_words(document))

    def test_each_counter_of_both_sides_stands_beside_the_same_conditions(self):
        def change(number, item):
            item["original"]["counters"]["asap"].update(dram_bytes=8e6, of_original_alone=1)
            item["asap"]["counters"].update(minor_faults=33, dram_bytes=6e6 + number, of_replay_alone=1)
            item["recorded"]["counters"]["cpu_ms"] = 0.0
        self.assertEqual(tables.counter_rows([a_sample(change)]), [
            ["mlp", "98.00", "0.00", "-", "-", "unprofiled", "cpu_ms"],
            ["mlp", "11.00", "7.00", "0.636", "0.636 to 0.636", "unprofiled", "minor_faults"],
            ["mlp", "8000000.00", "6000002.50", "0.750", "0.750 to 0.750", "profiled", "dram_bytes"],
            ["mlp", "22.00", "33.00", "1.500", "1.500 to 1.500", "profiled", "minor_faults"]])


class RunTest(unittest.TestCase):
    def setUp(self):
        self.scratch = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="with a space "))).resolve()

    def sample(self, name):
        return rounds.Sample(name, self.scratch / name, 1, ["train.py"], "gloo")

    def test_what_a_disturbed_try_met_is_held_against_the_sample(self):
        disturbed, quiet = a_round(), a_round()
        disturbed["foreign_share"], quiet["foreign_share"] = 0.5, 0.0
        disturbed["asap"]["values"]["nan"] = 1
        disturbed["recorded"]["losses"] = {limits.STALE_PROFILE: 1}
        with mock.patch.object(rounds, "one_round", side_effect=[disturbed, quiet]), \
                contextlib.redirect_stderr(io.StringIO()):
            taken = rounds.quiet_round(self.sample("mlp"), self.scratch, SETTINGS, 0)
        self.assertIs(taken, quiet)
        self.assertEqual((taken["tries"], taken["disturbed"]), (2, False))
        sample = a_sample()
        sample["rounds"][0] = taken
        self.assertEqual(gates(sample), {
            ("values", "round 1, another try, --pace asap: 1 tensors with nan elements"),
            ("profile", "round 1, another try, --pace recorded: the round's own profile fits none of the trace's "
                        "steps: recorded times are the capture's old ones")})

    def fidelity(self, *words, **variables):
        return subprocess.run([sys.executable, ROOT / "scripts" / "fidelity", *words], text=True,
                              capture_output=True, cwd=self.scratch,
                              env={**os.environ, **variables})

    def test_from_another_folder_with_relative_paths(self):
        """The programs are fakes that fail: the test looks only at the command that reaches
        them."""
        (self.scratch / "my traces").mkdir()
        (self.scratch / "my traces" / "capture.json").write_text('{"world_size": 1, "ranks": []}')
        (self.scratch / "train me.py").write_text("raise SystemExit('the script ran in its folder')")
        (self.scratch / "bin").mkdir()
        for name in ("generate", "replay"):
            (self.scratch / "bin" / name).touch()
        done = self.fidelity("my traces", "--rounds", "1", "--", "train me.py",
                             UNDERSTUDY_BIN=str(self.scratch / "bin"))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("ended with status", done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertNotIn("no such script", done.stderr)
        self.assertIn("'train me.py'", done.stderr)
        self.assertIn("MISSED  my traces: could not be run", done.stdout)

    def test_what_is_refused(self):
        (self.scratch / "traces").mkdir()
        for words, status, text in (
                (["none"], 2, "fidelity: none: neither a captured sample in fleet_samples nor a "
                              "folder that understudy capture wrote (no capture.json)\n"),
                (["traces", "--", "none.py"], 2, "no such script: none.py\n"),
                (["mlp", "--json", "no/such/f.json"], 2, "no such folder: no/such\n")):
            done = self.fidelity(*words)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertTrue(done.stderr.endswith(text), done.stderr)
        (self.scratch / "traces" / "capture.json").write_text("{")
        done = self.fidelity("traces")
        self.assertEqual(done.returncode, 65)
        self.assertIn("fidelity: traces/capture.json: ", done.stderr)


class EndingsTest(unittest.TestCase):
    def ended(self, problem, debug=""):
        def main():
            raise problem
        said = io.StringIO()
        with contextlib.redirect_stderr(said), mock.patch.dict(os.environ, {endings.DEBUG: debug}):
            with self.assertRaises(SystemExit) as end:
                endings.run_main("tool", main)
        return end.exception.code, said.getvalue()

    def test_one_line_and_a_status(self):
        self.assertEqual(self.ended(KeyboardInterrupt()), (130, "tool: interrupted\n"))
        self.assertEqual(self.ended(endings.Refused("no", 65)), (65, "tool: no\n"))
        self.assertEqual(self.ended(KeyError("x")), (
            70, "tool: a bug of ours: KeyError: 'x'; please report it, with what "
                "UNDERSTUDY_DEBUG=1 shows\n"))
        self.assertEqual(self.ended(FileNotFoundError(2, "No such file or directory", "a b")),
                         (65, "tool: a b: No such file or directory\n"))

    def test_the_traceback_is_there_when_it_is_asked_for(self):
        with self.assertRaises(KeyError), mock.patch.dict(os.environ, {endings.DEBUG: "1"}):
            endings.run_main("tool", lambda: {}["x"])

    def test_a_reader_that_has_gone(self):
        script = ("import sys; sys.path.insert(0, sys.argv[1])\n"
                  "from understudy.endings import run_main\n"
                  "run_main('tool', lambda: print('x' * 10_000_000))")
        started = subprocess.Popen([sys.executable, "-c", script, ROOT / "capture"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        started.stdout.close()
        self.assertEqual((started.stderr.read(), started.wait()), (b"", 141))
        started.stderr.close()


if __name__ == "__main__":
    unittest.main()
