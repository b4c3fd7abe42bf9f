"""What studies share: the samples, programs that must succeed, a folder to work in, and how a study ends."""
import argparse
import contextlib
import math
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "fleet_samples"
BUILD = ROOT / "build" / "release"

sys.path.insert(0, str(ROOT / "capture"))
from understudy.endings import Refused, run_main  # noqa: E402, F401


class Failed(Refused):
    """A program failed; the text has what it said."""


def call(*command, good=(0,), **options):
    """Runs a program and returns its output; `options` are those of subprocess.run(). Who tells of something with status 1 says it."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode not in good or (done.returncode == 1 and not done.stdout):
        raise Failed(f"{' '.join(map(str, command))}\nended with status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def drawn_tables(generator, count, is_heavy):
    """Draws embedding tables as Lin et al. do (arXiv 2404.12674): uniform in ln; heavy ones with 20 to 200 lookups a bag."""
    def draw(low, high):
        return math.exp(generator.uniform(math.log(low), math.log(high)))
    return [{"rows": round(draw(100, 2e7)), "dim": generator.choice([32, 64, 128, 256]),
             "pooling": round(draw(1, 20) * (10 if is_heavy else 1), 1)} for _ in range(count)]


def parser_of(text):
    return argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)


@contextlib.contextmanager
def work_folder(kept=None):
    """`kept`, which is made, or a folder that goes away."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = (kept or Path(scratch)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
