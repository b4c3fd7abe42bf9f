"""Run a training script and capture one of its steps.

The script calls understudy.step() at the end of each training step:

    import understudy
    for batch in loader:
        train(batch)
        understudy.step()

If the script runs by itself it behaves as before: step() then does nothing.
"""

import argparse
import atexit
import contextlib
import importlib.util
import os
import runpy
import sys
import traceback
from pathlib import Path

from . import STEADY_S, set_command_capture, version
from .played import command as played_command, kinds
from .endings import FAILED, INTERRUPTED, USAGE, Refused, run_main
from .start import at_root

HERE = Path(__file__).resolve().parent
SECOND_RUN = "UNDERSTUDY_CAPTURE_SECOND_RUN"  # reason for the second run, which does not wait for steady steps
NO_TORCH = ("{python} has no torch; run this with the Python of your training program: "
            "`path/to/python {command} -o DIR train.py`")

EXAMPLES = """examples:
  understudy capture -o captures/mlp train.py --batch 64
  understudy capture -o captures/mlp --threads 1 --timed 50 --stop train.py
  torchrun --nproc-per-node 2 --no-python understudy capture -o captures/ddp --comms nccl-form train_ddp.py
  understudy capture --as H100 -o captures/never train.py             no GPU needed: nothing is computed
  understudy capture --as H100 --world-size 64 -o captures/ddp train_ddp.py

exit status: 0 the capture is complete; 1 it is not, or the script failed (a script that
ends with its own status keeps it); 2 usage, or an output folder that is not a capture; 130 Ctrl-C
"""


def at_least(least, kind=int):
    """Returns what reads such a number of argparse's."""
    def number(text):
        value = kind(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {text}")
        return value

    number.__name__ = kind.__name__  # as argparse names it
    return number


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="understudy capture", description=__doc__, epilog=EXAMPLES, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--help-all", action="help", help=argparse.SUPPRESS)  # as every verb's; here all is usual
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="folder to write to")
    parser.add_argument("--warmup", type=at_least(0), default=3, metavar="N",
                        help="steps to run first, after the one that starts the count (default 3)")
    parser.add_argument("--timed", type=at_least(0), default=10, metavar="N",
                        help="steps to time with nothing attached, at least (default 10)")
    parser.add_argument("--steady", type=at_least(0, float), default=STEADY_S, metavar="S",
                        help="go on timing steps, for S seconds at most, until they are steady (default "
                        f"{STEADY_S}). A script that ends before runs again, and is captured as with "
                        "--steady 0: without waiting")
    parser.add_argument("--threads", type=at_least(1), metavar="N",
                        help="threads per operator (default: as torch decides)")
    parser.add_argument("--comms", choices=("gloo", "nccl-form"), default="gloo",
                        help="how Gloo's collectives are recorded: as Gloo does, or in the form of "
                        "NCCL through a backend that delegates to Gloo (default gloo)")
    parser.add_argument("--profiled", type=at_least(0), default=5, metavar="N",
                        help="steps to profile without the observer (default 5)")
    parser.add_argument("--free", type=at_least(0), metavar="N",
                        help="steps to time together, without waiting for the device between them "
                        "(default 10 with a GPU, else 0)")
    parser.add_argument("--max-events", type=at_least(1), default=1_000_000, metavar="N",
                        help="profile fewer steps than --profiled where they have more events "
                        "together (default 1000000)")
    parser.add_argument("--no-trace", action="store_true",
                        help="record no execution trace, only times and profile")
    parser.add_argument("--no-fault-counts", action="store_true",
                        help="do not count page faults by operator: four fewer steps")
    parser.add_argument("--no-indices", action="store_true",
                        help="do not record how often index values repeat")
    parser.add_argument("--no-tensor-range", action="store_true",
                        help="do not record minimum and maximum of integer tensors")
    parser.add_argument("--no-compiled-sources", action="store_true",
                        help="do not keep the sources of Triton's kernels")
    parser.add_argument("--shapes", action="store_true",
                        help="the profile of the traced step has operators' arguments too (sizes, strides, types, numbers): two fifths larger")
    parser.add_argument("--counters", action="store_true",
                        help="count the work of each kernel (bytes, operations, occupancy) with the counters of an "
                        "NVIDIA GPU, in one more step")
    parser.add_argument("--count-allocations", action="store_true",
                        help="count the bytes of live tensors, as a replay does")
    parser.add_argument("--speed-probe", action="store_true",
                        help="before each timed and profiled step, time the fixed piece of work that a replay times")
    parser.add_argument("--as", dest="card", metavar="CARD",
                        help="run the script on a card that is not there (H100, or another of NVIDIA's that understudy predict --card knows): "
                        "PyTorch launches what it would there, and nothing is computed; without a GPU, a driver or memory, and without times")
    parser.add_argument("--rank", type=at_least(0), default=0, metavar="K", help="with --as: the rank to be (default 0)")
    parser.add_argument("--world-size", type=at_least(1), metavar="N", help="with --as: ranks of the job (default 1)")
    parser.add_argument("--ranks-per-node", type=at_least(1), default=8, metavar="N",
                        help="with --as: ranks that share a node (default 8)")
    parser.add_argument("--all-kinds", action="store_true",
                        help="with --as: capture one rank of each kind, such as each stage of a pipeline")
    parser.add_argument("--stop", action="store_true",
                        help="end the script once the capture is complete")
    parser.add_argument("--version", action="version", version=f"%(prog)s {version()}")
    parser.add_argument("script", help="the training script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    arguments = parser.parse_args()
    for is_wrong, why in (
            (arguments.no_trace and arguments.timed + arguments.profiled == 0, "with --no-trace there must be timed or profiled steps"),
            (arguments.rank >= (arguments.world_size or 1), "--rank must be below --world-size"),
            (arguments.card is None and (arguments.world_size or arguments.rank or arguments.all_kinds),
             "--rank, --world-size and --all-kinds need --as: ranks of a real job are torchrun's"),
            (arguments.card == "cpu", "--as takes a card: on a CPU the script runs itself, without --as; ranks that are not there are those "
             "of torch's backend `fake` (docs/capture.md)"),
            (not Path(arguments.script).is_file(), f"no such script: {arguments.script}")):
        if is_wrong:
            parser.error(why)
    return arguments


def make_capture(arguments):
    """Returns the capture that step() drives, with all that it needs enabled."""
    with at_root():
        import torch
        from . import comms, native, recorder

    if not torch.cuda.is_available():
        os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # it would complain that it finds no driver
    if arguments.threads is not None:
        torch.set_num_threads(arguments.threads)
    comms.use_nccl_form() if arguments.comms == "nccl-form" else comms.record_fake_groups()
    return recorder.Capture(
        arguments.output, warmup=arguments.warmup, timed=arguments.timed,
        profiled=arguments.profiled, trace=not arguments.no_trace,
        indices=not arguments.no_indices, count_faults=not arguments.no_fault_counts,
        tensor_range=not arguments.no_tensor_range, steady_s=arguments.steady, say=say, free=arguments.free,
        most_events=arguments.max_events,
        compiled_sources=not arguments.no_compiled_sources, shapes=arguments.shapes,
        allocations=native.count_allocations() if arguments.count_allocations else None, counters=arguments.counters,
        speed_probe=native.load_speed_probe() if arguments.speed_probe else None,
        stop_when_done=arguments.stop)


def refusal(_):
    """Returns why a script with this error cannot be captured: the error is its own."""
    return None


def run_script(arguments):
    """Sets up path and arguments as `python train.py` does: the script's own folder first, then its own arguments."""
    sys.path.insert(0, str(Path(arguments.script).resolve().parent))
    sys.argv = [arguments.script, *arguments.arguments]
    runpy.run_path(arguments.script, run_name="__main__")


def is_ours(filename):
    return filename.startswith((str(HERE) + os.sep, "<frozen runpy>", runpy.__file__))


def print_script_error(error):
    """Prints the script's traceback as Python would: without the frames of the capture."""
    pending = [traceback.TracebackException.from_exception(error)]
    first = pending[0]
    while pending:
        part = pending.pop()
        part.stack[:] = [frame for frame in part.stack if not is_ours(frame.filename)]
        pending += [cause for cause in (part.__cause__, part.__context__) if cause is not None]
    print("".join(first.format()), end="", file=sys.stderr)


def say(text):
    print(f"capture: {text}", file=sys.stderr)


def capture_script(arguments, capture, ending, refusal):
    """Returns the exit status. The capture is complete, or nothing of it remains. `refusal`: error of the script → why it cannot be
    captured, or None."""
    import torch
    from . import job, recorder

    ending.has_threads = job.is_distributed
    try:
        run_script(arguments)
    except recorder.CaptureDone as done:
        # The script was ended before it could destroy its process group, which its model still holds. The function keeps what the script
        # holds until the process ends: DDP's reducer waits in its destructor for Gloo's threads, which may wait for Python's lock.
        if job.is_distributed():
            torch.distributed.destroy_process_group()
            ending.has_threads = lambda script=done: True
    except recorder.CaptureFailed:
        pass  # close() reports it
    except SystemExit as end:
        if end.code not in (None, 0):
            end_early(capture, "the script ended with an error")
            raise
    except KeyboardInterrupt:
        end_early(capture, "interrupted")
        return INTERRUPTED
    except BaseException as error:
        reason = refusal(error)
        if reason is None:
            print_script_error(error)
        end_early(capture, reason or "the script failed, see above")
        return FAILED
    try:
        capture.close()
    except recorder.EndedUnsteady as problem:
        ending.run_again(str(problem))
        return 0
    except recorder.CaptureFailed as problem:
        say(problem)
        if capture.steps_seen == 0:
            say("add `import understudy` to the script, and `understudy.step()` at the end of each training step")
        return FAILED
    if capture.summary is not None:
        say(capture.summary)
    ending.is_whole = True
    return 0


def end_early(capture, reason):
    capture.abandon()
    if capture.whole:
        say(f"{reason}; the capture was complete before that")
        say(capture.summary or "see the summary of rank 0")
    else:
        say(f"{reason}; nothing was written")


class Ending:
    """What comes after the script and its own exit handlers.

    If the first run ended without a capture, the command starts again in the same process. Recording at the first run's start would make
    the second run unnecessary, but disturb the steps after it: once a profiler was on, the heap keeps its pages (docs/capture.md), and
    launches on a GPU stay slower.

    If the capture is complete and a process group is left, the process ends at once. The group's threads sometimes abort an interpreter
    that shuts down (pytorch/pytorch pull request 179291).
    """

    def __init__(self):
        self._folder, self._environment = os.getcwd(), dict(os.environ)
        self._reason = None  # for a second run
        self.is_whole = False
        self.has_threads = None  # function that returns whether a process group is left
        # Registered before the script's own handlers, so called after them.
        atexit.register(self._end)

    def run_again(self, reason):
        self._reason = reason

    def _end(self):
        if self._reason is not None:
            self._start_again()
        elif self.is_whole and self.has_threads():
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)

    def _start_again(self):
        if is_first_rank():
            say(f"{self._reason}; the script runs once more, and is captured as it is")
        if "MASTER_PORT" in self._environment:  # the store of the first run still holds its keys
            self._environment["MASTER_PORT"] = str(int(self._environment["MASTER_PORT"]) + 1)
            self._environment["TORCHELASTIC_USE_AGENT_STORE"] = "False"
        sys.stdout.flush()
        os.chdir(self._folder)
        # Files are closed by the call that ends the process's threads: until then those of a process group wait for theirs, and would abort.
        for number in map(int, os.listdir("/dev/fd")):
            if number > 2:
                with contextlib.suppress(OSError):  # that of the list itself
                    os.set_inheritable(number, False)
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]],
                  {**self._environment, SECOND_RUN: self._reason})


def is_first_rank():
    return int(os.environ.get("RANK", "0")) == 0


def run():
    arguments, ending = parse_arguments(), Ending()
    reason = os.environ.pop(SECOND_RUN, None)
    if reason is not None:
        arguments.steady = 0
    if arguments.threads is not None:
        # Set before torch is imported: libraries read the variable once.
        os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # torch reads it once, and would tell of each step that it observes
    if importlib.util.find_spec("torch") is None:
        raise Refused(NO_TORCH.format(python=sys.executable, command=sys.argv[0]), USAGE)
    from .output import BadOutput, OutputFolder
    try:
        if OutputFolder(arguments.output).check() and is_first_rank():
            say(f"{arguments.output} holds a capture, which is replaced once this one is complete")
        if arguments.all_kinds:
            return kinds.capture_all(arguments, sys.argv[1:], say, main)
        kind = played_command if arguments.card else sys.modules[__name__]
        capture = kind.make_capture(arguments)
        if reason is not None and is_first_rank():
            capture.notices.append(f"{reason}: these are the steps of a second run, as they were")
        set_command_capture(capture)
        return capture_script(arguments, capture, ending, kind.refusal)
    except BadOutput as problem:
        raise Refused(problem, USAGE) from problem


def main():
    run_main("capture", run)
