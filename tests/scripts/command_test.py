"""Tests the command that captures a script: what it leaves, what it says, how it ends."""

import faulthandler
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import unittest
from pathlib import Path

os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"  # as the command does
import torch  # noqa: E402, F401: the forked commands need not load it again

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "capture"))
from understudy import command  # noqa: E402

QUICK = ["--warmup", "0", "--timed", "2", "--profiled", "1", "--threads", "1", "--no-fault-counts",
         "--steady", "0"]
MOST_S = 200  # for one command
NEEDED = 7  # steps: the one that starts the count, 2 timed, 2 profiled, indices, trace
SCRIPT = """
import sys
import torch
import understudy
model = torch.nn.Linear(4, 4)
for number in range({steps}):
    {extra}
    model(torch.ones(2, 4)).sum().backward()
    understudy.step()
print("the end", *sys.argv[1:])
"""
TWO_RANKS = """
import torch
import torch.distributed as dist
import understudy
dist.init_process_group("gloo")
for number in range({steps}):
    {extra}
    dist.all_reduce(torch.ones(4))
    understudy.step()
dist.destroy_process_group()
"""
GLOO_THREADS = """
from pathlib import Path
def gloo_threads():
    return [path for path in Path("/proc/self/task").glob("*/comm") if "gloo" in path.read_text()]
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Started:
    """A command in a forked process."""

    def __init__(self, words, scratch, variables=()):
        self.files = [scratch / f"stream-{time.monotonic_ns()}-{kind}" for kind in ("out", "err")]
        self.pid = os.fork()
        if self.pid == 0:
            self._run(words, dict(variables))

    def _run(self, words, variables):
        status = 99
        try:
            for number, path in enumerate(self.files, start=1):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
            os.environ.update(variables)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            faulthandler.dump_traceback_later(MOST_S, exit=True)  # shows where it hangs
            sys.argv = ["capture", *words]
            command.main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def wait(self):
        """Status, standard output, standard error."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]), *(path.read_text() for path in self.files)


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.scratch = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="with a space "))).resolve()
        self.output = self.scratch / "out" / "my capture"

    def write(self, text, steps=NEEDED, extra="pass"):
        script = self.scratch / "train me.py"
        script.write_text(text.format(steps=steps, extra=extra))
        return script

    def start(self, script, *options, output=None, variables=()):
        return Started([*QUICK, *options, "-o", str(output or self.output), str(script), "its own"],
                       self.scratch, variables)

    def capture(self, *options, **changes):
        return self.start(self.write(SCRIPT, **changes), *options).wait()

    def assertNothingLeft(self):
        self.assertFalse(self.output.parent.exists())

    def test_a_whole_one_ends_with_a_summary_and_is_replaced_by_the_next(self):
        status, out, err = self.capture()
        self.assertEqual((status, out), (0, "the end its own\n"), err)
        self.assertEqual([path.name for path in self.output.parent.iterdir()], ["my capture"])
        sizes = {path.name: path.stat().st_size for path in self.output.iterdir()}
        self.assertEqual(sorted(sizes), ["capture.json", "rank-0.et.json.gz",
                                         "rank-0.kineto.json.gz", "rank-0.kineto_only.json.gz"])
        lines = err.splitlines()
        self.assertEqual(lines[0], f"capture: wrote {self.output}")
        self.assertRegex(lines[1], r"^  steps         2 timed: median [\d.]+ ms, p10 [\d.]+ ms, p90 "
                                   r"[\d.]+ ms$")
        self.assertEqual(lines[2:5], [
            "  ranks         1",
            "  recorded      execution trace, profile of the traced step, profile of 1 steps",
            "  not recorded  page faults by operator"])
        self.assertIn("  warning       2 timed steps are few to judge a replay by; see --timed",
                      lines)
        self.assertEqual(lines[-1], f"  next          understudy generate '{self.output}' -o bench.et")
        for name in sizes.keys() - {"capture.json"}:
            self.assertTrue(any(name in line for line in lines), name)
        (self.output / "notes.txt").write_text("mine")
        before = (self.output / "capture.json").read_text()
        status, _, err = self.capture()
        self.assertEqual(status, 0, err)
        self.assertEqual(err.splitlines()[0], f"capture: {self.output} holds a capture, which is "
                                              "replaced once this one is complete")
        self.assertNotEqual((self.output / "capture.json").read_text(), before)
        self.assertTrue((self.output / "notes.txt").exists())

    def test_a_folder_of_something_else_is_refused_before_the_script_runs(self):
        self.output.mkdir(parents=True)
        (self.output / "thesis.tex").write_text("precious")
        status, out, err = self.capture()
        self.assertEqual((status, out), (2, ""))
        self.assertEqual(err, f"capture: {self.output}: it is there and is no capture (no "
                              "capture.json of one), so it is not replaced; name another, or "
                              "remove it\n")

    def test_a_library_that_is_not_built_is_refused_before_the_script_runs(self):
        for option, name in (("--speed-probe", "speed_probe"), ("--count-allocations", "allocations")):
            ended = self.start(self.write(SCRIPT), option, variables={"UNDERSTUDY_BIN": "/nowhere/bin"}).wait()
            library = f"/nowhere/lib/understudy/libunderstudy_{name}.so"
            self.assertEqual(ended, (2, "", f"capture: {library} cannot be loaded into this Python, whose torch is "
                                            f"{torch.__version__} ({library}: cannot open shared object file: No such file or "
                                            "directory); scripts/build builds it, for the torch that it is given\n"))

    def test_a_package_that_is_missing_is_named(self):
        ended = self.start(self.write(SCRIPT), "--comms", "nccl-form", variables={"PATH": "/nowhere"}).wait()
        self.assertEqual(ended, (2, "", "capture: collectives in NCCL's form need ninja on the path, to build "
                                        "capture_backend.cpp: install it (pip install ninja)\n"))

    def test_a_script_that_raises_keeps_its_traceback_and_ours_is_not_in_it(self):
        status, _, err = self.capture(
            extra='\n    if number == 3:\n        raise ValueError("no data")')
        self.assertEqual(status, 1)
        script = self.scratch / "train me.py"
        self.assertEqual(err, "Traceback (most recent call last):\n"
                              f'  File "{script}", line 9, in <module>\n'
                              '    raise ValueError("no data")\n'
                              "ValueError: no data\n"
                              "capture: the script failed, see above; nothing was written\n")
        self.assertNothingLeft()

    def test_one_that_raises_while_its_values_are_looked_at(self):
        """The recorder's own frames, between those of the script and of torch, must not show."""
        status, _, err = self.capture(
            extra='\n    if number == 5:\n        torch.ones(2) @ torch.ones(3)')
        self.assertEqual(status, 1)
        self.assertIn('train me.py", line 9', err)
        self.assertIn("RuntimeError: ", err)
        self.assertNotIn(str(ROOT / "capture"), err.split("capture:")[0])
        self.assertNothingLeft()

    def test_one_that_fails_after_the_capture_says_that_it_is_whole(self):
        script = self.write(SCRIPT + "raise SystemExit(3)\n")
        status, _, err = self.start(script).wait()
        self.assertEqual(status, 3)
        self.assertIn("capture: the script ended with an error; the capture was complete before that\n"
                      f"capture: wrote {self.output}\n", err)
        self.assertTrue((self.output / "capture.json").exists())

    def test_a_script_with_too_few_steps(self):
        status, _, err = self.capture(steps=NEEDED - 1)
        self.assertEqual(status, 1)
        self.assertEqual(err, "capture: the loop ended after 5 of the 6 steps that the capture "
                              "needs; make it longer, or ask for fewer warm-up or timed steps\n")
        self.assertNothingLeft()

    def test_steps_are_waited_for_until_they_are_steady(self):
        """However busy the machine is: what counts as steady is tested elsewhere."""
        lenient = ("\n    if number == 0:\n        from understudy import settling"
                   "\n        settling.LEAST_S, settling.AGREEMENT, settling.STARVED = 0, 1e9, 1e9")
        status, out, err = self.capture("--steady", "60", steps=NEEDED + 6, extra=lenient)
        self.assertEqual((status, out), (0, "the end its own\n"), err)
        self.assertRegex(err.splitlines()[0], r"^capture: waiting for steady steps: [\d.]+ ms each; 0 of at most 60 s$")
        rank = json.loads((self.output / "capture.json").read_text())["ranks"][0]
        self.assertEqual((rank["steady"]["is_steady"], len(rank["step_ns"])), (True, 4))  # of 8

    def test_a_script_that_ends_before_runs_again_and_is_captured_as_it_is(self):
        """Two ranks, each in a process of its own: the second run takes the first one's place. The threads of the group that the script
        keeps run until then, however long it takes."""
        kept = ("import sys, time; sys.addaudithook(lambda event, _: event == 'os.exec' and time.sleep(1))\n"
                "print('the end', len(gloo_threads()) > 1)\n")
        script = self.write(TWO_RANKS.replace("dist.destroy_process_group()\n", GLOO_THREADS + kept))
        job = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        ranks = [subprocess.Popen([sys.executable, ROOT / "scripts" / "capture", *QUICK[:-2], "-o", self.output, script],
                                  env={**job, "RANK": str(rank)}, cwd=self.scratch, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) for rank in range(2)]
        said = [rank.communicate(timeout=MOST_S) for rank in ranks]
        self.assertEqual([(rank.returncode, out) for rank, (out, _) in zip(ranks, said)], [(0, "the end True\n" * 2)] * 2, said)
        reason = "the loop ended after 6 steps, before they were steady and recorded"
        self.assertIn(f"capture: {reason}; the script runs once more, and is captured as it is\n", said[0][1])
        self.assertIn(f"warning       rank 0: {reason}: these are the steps of a second run, as they were\n", said[0][1])
        self.assertNotIn("capture: ", said[1][1])
        described = json.loads((self.output / "capture.json").read_text())["ranks"]
        self.assertEqual([(rank["steady"], len(rank["step_ns"])) for rank in described], [(None, 2)] * 2)

    def test_a_script_without_steps(self):
        status, _, err = self.capture(steps=0)
        self.assertEqual(status, 1)
        self.assertIn("capture: add `import understudy` to the script, and `understudy.step()` at the end of each training step\n", err)
        self.assertNothingLeft()

    def test_ctrl_c(self):
        ready = self.scratch / "ready"
        command_of = self.start(self.write(
            SCRIPT, extra=f"\n    if number == 4:\n        import os, time; os.mkdir({str(ready)!r});"
                          " time.sleep(600)"))
        while not ready.exists():
            time.sleep(0.01)
        os.kill(command_of.pid, signal.SIGINT)
        status, _, err = command_of.wait()
        self.assertEqual((status, err), (130, "capture: interrupted; nothing was written\n"))
        self.assertNothingLeft()

    def ranks(self, text=TWO_RANKS, **changes):
        script, port = self.write(text, **changes), free_port()
        started = [self.start(script, variables={
            "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port)}) for rank in range(2)]
        return [command_of.wait() for command_of in started]

    def test_ranks_are_one_capture_with_one_summary(self):
        """No thread of theirs runs on when the script has destroyed its group: one would now and then abort the interpreter's end."""
        ended = self.ranks(TWO_RANKS + GLOO_THREADS + "print(gloo_threads())\n")
        self.assertEqual([(status, out) for status, out, _ in ended], [(0, "[]\n")] * 2, ended)
        self.assertEqual([err.count("capture: wrote") for _, _, err in ended], [1, 0])
        self.assertIn("  ranks         2\n", ended[0][2])
        self.assertIn(", the slowest rank of each\n", ended[0][2])
        described = json.loads((self.output / "capture.json").read_text())["ranks"]
        for rank in described:
            for name in rank["files"]:
                self.assertTrue((self.output / name).exists(), name)
        self.assertEqual([path.name for path in self.output.parent.iterdir()], ["my capture"])

    def test_one_rank_that_fails_leaves_nothing_of_the_others(self):
        """The rank fails in the middle of the loop, or at the very end, where the others are whole
        already."""
        middle = '\n    if number == 3 and dist.get_rank() == 1:\n        raise ValueError("no data")'
        at_end = ('\n    if number == 0 and dist.get_rank() == 1:\n'
                  '        from understudy import records\n'
                  '        records.LEAST_OBSERVED = 1e9')
        for extra, text in ((middle, "ValueError: no data"), (at_end, "capture: rank 1: the "
                                                              "execution trace has")):
            ended = self.ranks(extra=extra)
            self.assertEqual([status for status, _, _ in ended], [1, 1], ended)
            self.assertIn(text, ended[1][2])
            self.assertNothingLeft()
            if extra is at_end:
                self.assertIn(text, ended[0][2])


if __name__ == "__main__":
    unittest.main()
