"""Runs the original training step and the replay of its benchmark in turn, and compares them.

Each round starts three programs, one after the other and on the same cores: the training program
(its steps timed with nothing attached, then some of them profiled), the replay with the original's
gaps (--pace recorded), and the replay as fast as it goes (--pace asap). The benchmark is the
sample's own trace, linked with the profile of that round; so machine and moment are the same on
both sides.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from understudy.endings import BAD_INPUT, FAILED, INTERRUPTED, USAGE, Refused, run_main
from understudy.programs import command, version

from . import limits, rounds, tables

FORMAT, VERSION = "understudy-fidelity", 1
EXAMPLES = """examples:
  scripts/fidelity                               every captured sample of one rank, 1 thread
  scripts/fidelity mlp resnet18 --threads 2 --rounds 7
  scripts/fidelity gpt_ddp --ranks 2
  scripts/fidelity captures/mine -- train.py --batch 64
                                                 a program of yours, captured with understudy capture
exit status: 0 every sample is within its limits; 1 one is not; 2 usage; 65 a capture is not complete;
130 Ctrl-C, with what was measured written as incomplete
"""


def parse_arguments(words):
    program = []
    if "--" in words:
        program = words[words.index("--") + 1:]
        words = words[:words.index("--")]
    parser = argparse.ArgumentParser(
        prog="scripts/fidelity", description=__doc__, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", nargs="*", metavar="SAMPLE",
                        help="names in fleet_samples, or folders that understudy capture wrote "
                        "(default: every captured sample of one rank)")
    parser.add_argument("--rounds", type=int, default=6, metavar="R",
                        help="default 6, the fewest that give a 95 %% interval")
    parser.add_argument("--threads", type=int, default=1, metavar="N",
                        help="threads of an operator (default 1)")
    parser.add_argument("--ranks", type=int, metavar="N",
                        help="take samples of this many ranks (default: 1 for all samples, as many "
                        "as it has for a named one)")
    parser.add_argument("--steps", type=int, default=20, metavar="N",
                        help="timed steps and iterations of a round (default 20)")
    parser.add_argument("--profiled", type=int, default=7, metavar="N",
                        help="profiled steps of a round (default 7)")
    parser.add_argument("--counters", metavar="SET",
                        help="count in a step of the original (capture --counters) and in the replay (replay --counters "
                        "SET), too")
    parser.add_argument("--limit", type=float, default=0.03, metavar="X",
                        help="allowed |ratio - 1| of a sample on one rank (default 0.03; 0.05 on "
                        "several ranks); two thirds of it for the average of all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure to FILE")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep each round's files in DIR")
    parser.add_argument("--version", action="version", version=f"%(prog)s {version()}")
    arguments = parser.parse_args(words)
    if min(arguments.rounds, arguments.threads, arguments.steps, arguments.profiled) < 1:
        parser.error("--rounds, --threads, --steps and --profiled must be at least 1")
    if program and len(arguments.samples) != 1:
        parser.error("a program after -- goes with one captured folder")
    if program and not Path(program[0]).is_file():
        parser.error(f"no such script: {program[0]}")
    if arguments.json is not None and not arguments.json.absolute().parent.is_dir():
        parser.error(f"no such folder: {arguments.json.parent}")
    arguments.program = program
    return arguments


def find_samples(arguments):
    if arguments.samples:
        return [rounds.Sample.of(folder_of(name), arguments.program) for name in arguments.samples]
    captured = sorted(path.parent for path in rounds.SAMPLES.glob("*/capture.json"))
    samples = [rounds.Sample.of(folder, []) for folder in captured]
    return [sample for sample in samples if sample.ranks == (arguments.ranks or 1)]


def folder_of(name):
    folder = rounds.SAMPLES / name
    if not folder.is_dir():
        folder = Path(name)
    if not (folder / "capture.json").is_file():
        raise Refused(f"{name}: neither a captured sample in fleet_samples nor a folder that "
                      "understudy capture wrote (no capture.json)", USAGE)
    return folder


def check_programs():
    for program, *_ in map(command, ("generate", "replay")):
        if not Path(program).exists():
            raise Refused(f"{program} is not there; run scripts/build", USAGE)


class Run:
    """The rounds of all samples, and the results so far."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.results, self.failures = [], []
        self.incomplete = "the run goes on"

    def measure(self, samples):
        progress = rounds.Progress(len(samples), self.arguments.rounds)
        with tempfile.TemporaryDirectory(prefix="fidelity-") as scratch:
            for number, sample in enumerate(samples):
                folder = (self.arguments.keep or Path(scratch)).absolute() / sample.name
                try:
                    self._measure_one(sample, folder, progress)
                except (rounds.Interrupted, KeyboardInterrupt):
                    self.incomplete = (f"interrupted in {sample.name}, {number + 1} of "
                                       f"{len(samples)} samples")
                    return
                self.write()
        self.incomplete = None

    def _measure_one(self, sample, folder, progress):
        try:
            self.results.append(rounds.run_sample(sample, folder, self.arguments, progress))
        except rounds.Interrupted as stop:
            if stop.result is not None:
                self.results.append(stop.result)
            raise
        except rounds.Failed as problem:
            rounds.say(f"{sample.name}: {problem}")
            self.failures.append({"name": sample.name, "error": str(problem)})

    def document(self):
        return make_document(self.arguments, self.results, self.failures, self.incomplete)

    def write(self):
        if self.arguments.json:
            Path(self.arguments.json).write_text(json.dumps(self.document(), indent=1) + "\n", encoding="utf-8")


def make_document(arguments, results, failures, incomplete):
    found = limits.misses(results, arguments.limit)
    for sample in results:
        sample["misses"] = [miss for miss in found if miss["sample"] == sample["name"]]
    settings = {key: getattr(arguments, key)
                for key in ("rounds", "threads", "steps", "profiled", "limit")}
    return {"format": FORMAT, "version": VERSION, "settings": settings, "incomplete": incomplete,
            "samples": results, "failures": failures,
            "misses": [f"{failure['name']}: could not be run" for failure in failures]
            + [f"{miss['sample'] or 'all samples'}: {miss['reason']}" for miss in found]}


def run():
    arguments = parse_arguments(sys.argv[1:])
    try:
        samples = find_samples(arguments)
    except rounds.BadCapture as problem:
        raise Refused(problem, BAD_INPUT) from problem
    if not samples:
        raise Refused("no captured sample has so many ranks", USAGE)
    check_programs()
    measured = Run(arguments)
    measured.measure(samples)
    measured.write()
    document = measured.document()
    print(tables.to_text(document))
    if document["incomplete"]:
        return INTERRUPTED
    return FAILED if document["misses"] else 0


def main():
    run_main("fidelity", run)
