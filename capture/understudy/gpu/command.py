"""Runs everything that needs a GPU on this machine: checks of what can go wrong on one; then samples that
are captured on it, replayed and compared, with one rank per GPU if they communicate; then replays of
samples that were recorded on a CPU or on other GPUs. Nothing is installed.

The folder --out gets check_gpu.json with all figures, which is written after each check,
gpu-NAME-DATE.md with the tables, for docs/results/, and at the end check_gpu.tar.gz with captures,
benchmarks, reports, profiles and logs.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from . import samples
from .checks import CHECKS
from ..endings import run_main
from .layout import CLONE, IS_CLONE, OWN_BIN, OWN_PYTHON
from .machine import Machine
from .run import check, write

EXAMPLES = """examples:
  understudy check-gpu --out results              every check and every sample
  understudy check-gpu facts times mlp            these alone
  understudy check-gpu --device cpu               the same on a CPU, to try it
  scripts/check_gpu                               in a clone, which is built first
exit status: 0 all checks passed and all samples ran; 1 one failed or did not fit into the time, or one that was
captured here gave other outputs than the recorded ones; 2 usage, or no GPU; 70 a bug
"""


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="checks:\n" + "".join(f"  {name:11} {each.title}\n" for name, each in CHECKS.items())
        + "samples:\n  " + ", ".join(samples.NAMES) + "\n" + EXAMPLES)
    parser.add_argument("names", nargs="*", metavar="CHECK|SAMPLE")
    parser.add_argument("--out", type=Path, default=Path("build/gpu"), metavar="DIR",
                        help="where the three results are written (default build/gpu)")
    parser.add_argument("--python", default=str(OWN_PYTHON if OWN_PYTHON.exists() else sys.executable),
                        metavar="PYTHON", help="a Python with torch (default: the project's own)")
    parser.add_argument("--no-build", action="store_true", help="in a clone: the programs are built already")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"],
                        help="default cuda: all GPUs; CUDA_VISIBLE_DEVICES chooses among them")
    parser.add_argument("--minutes", type=float, default=8, metavar="M",
                        help="stop after M minutes; what is left over is named (default 8)")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - {*CHECKS, *samples.NAMES})
    if unknown:
        parser.error(f"no such check or sample: {', '.join(unknown)}; there are "
                     f"{', '.join([*CHECKS, *samples.NAMES])}")
    return arguments


def run_checks():
    arguments = parse_arguments()
    if IS_CLONE and not arguments.no_build:
        subprocess.run([CLONE / "scripts" / "build", "programs"], check=True)
    machine = Machine(arguments.python, OWN_BIN, arguments.device)
    if machine.facts is None:
        print(f"check_gpu: {arguments.python} has no torch; name one that has with --python",
              file=sys.stderr)
        return 2
    if machine.facts["gpu"] is None and arguments.device != "cpu":
        print("check_gpu: there is no GPU on this machine that torch can use, so there is nothing "
              "to check; run it where nvidia-smi lists one, or try it with --device cpu",
              file=sys.stderr)
        return 2
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="check_gpu.") as work:
        document = check(machine, arguments.names, out, Path(work), arguments.minutes)
    print(write(document, out))
    return 1 if document["failures"] else 0


def main():
    run_main("check_gpu", run_checks)
