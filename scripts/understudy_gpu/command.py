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
from .layout import OWN_BIN, OWN_PYTHON, ROOT
from .machine import Machine
from .pack import pack
from .run import check, write

EXAMPLES = """examples:
  scripts/check_gpu                               every check and every sample
  scripts/check_gpu facts times mlp               these alone
  scripts/check_gpu --pack build/carry            the programs and what they need, to be carried
  scripts/check_gpu --no-build --bin build/carry/bin --python python3 --out results
                                                  where nothing can be installed
  scripts/check_gpu --device cpu                  the same on a CPU, to try it
exit status: 0 all checks passed and all samples ran; 1 one failed or did not fit into the time, or one that was
captured here gave other outputs than the recorded ones; 2 usage, or no GPU; 70 a bug
"""


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="checks:\n" + "".join(f"  {name:11} {each.title}\n" for name, each in CHECKS.items())
        + "samples:\n  " + ", ".join(samples.NAMES) + "\n" + EXAMPLES)
    parser.add_argument("names", nargs="*", metavar="CHECK|SAMPLE")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "gpu", metavar="DIR",
                        help="where the three results are written (default build/gpu)")
    parser.add_argument("--bin", type=Path, default=OWN_BIN, metavar="DIR",
                        help="the programs (default build/release/bin)")
    parser.add_argument("--python", default=str(OWN_PYTHON if OWN_PYTHON.exists() else sys.executable),
                        metavar="PYTHON", help="a Python with torch (default: the project's own)")
    parser.add_argument("--no-build", action="store_true", help="the programs are built already")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"],
                        help="default cuda: all GPUs; CUDA_VISIBLE_DEVICES chooses among them")
    parser.add_argument("--minutes", type=float, default=8, metavar="M",
                        help="stop after M minutes; what is left over is named (default 8)")
    parser.add_argument("--pack", type=Path, metavar="DIR",
                        help="copy the programs and the libraries they need to DIR, and end")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - {*CHECKS, *samples.NAMES})
    if unknown:
        parser.error(f"no such check or sample: {', '.join(unknown)}; there are "
                     f"{', '.join([*CHECKS, *samples.NAMES])}")
    if arguments.bin != OWN_BIN and not arguments.no_build:
        parser.error("--bin names programs that are built: add --no-build")
    return arguments


def main():
    arguments = parse_arguments()
    if not arguments.no_build:
        subprocess.run([ROOT / "scripts" / "build", "programs"], check=True)
    if arguments.pack:
        pack(arguments.pack)
        return 0
    machine = Machine(arguments.python, arguments.bin, arguments.device)
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
