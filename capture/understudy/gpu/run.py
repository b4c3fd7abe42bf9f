"""Runs checks and samples one after another, each in its own process group."""

import datetime
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import time
import zlib

from ..whole_file import write_whole

from . import samples
from .checks import CHECKS
from .layout import CHECK_S, HERE
from .tables import SECTIONS, to_markdown

ARCHIVE_BYTES = 15 << 20  # largest size of the archive
PACKED_AT_ONCE_BYTES = 256 << 20  # a larger file is left out without packing it
ARCHIVE = "check_gpu.tar.gz"


def run_one(machine, name, work, limit_s):
    """Returns the check's row; {"failed": why} if it wrote none."""
    if limit_s <= 0:
        return {"failed": "the time was up before it"}
    target = work / (name.replace(" ", ".") + ".row.json")
    target.unlink(missing_ok=True)
    with open(target.with_suffix(".log"), "w", encoding="utf-8") as log:
        child = subprocess.Popen(
            [machine.python, str(HERE / "one.py"), name, machine.device, str(machine.bin),
             machine.python, json.dumps(machine.facts), str(work), str(target)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        try:
            status = child.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _end_group(child)
    if status is None:
        return {"failed": f"it was not done after {limit_s:.0f} s"}
    if not target.exists():
        said = target.with_suffix(".log").read_text(encoding="utf-8", errors="replace").strip()
        return {"failed": f"it ended with status {status}: " + (said.splitlines() or ["no word"])[-1]}
    return json.loads(target.read_text(encoding="utf-8"))


def _end_group(child):
    """Ends processes that the check has left running. The group keeps its number while one of them lives."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()


def plan(names):
    """Returns the names to run: checks first, then samples; all of them, or those in `names`."""
    wanted = [f"check {name}" for name in CHECKS if not names or name in names]
    needed = {f"check {need}" for name in wanted for need in CHECKS[name.split(" ")[1]].needs}
    wanted = [f"check {name}" for name in CHECKS if f"check {name}" in {*wanted, *needed}]
    return wanted + [f"{section} {name}" for section, (members, _) in samples.SECTIONS.items()
                     for name in members if not names or name in names]


def check(machine, names, out, work, minutes, limit_s=CHECK_S):
    deadline = time.monotonic() + 60 * minutes
    document = {"format": "understudy-check-gpu", "version": 1,
                "device": machine.facts["gpu"] if machine.device != "cpu" else "the CPU",
                "date": datetime.date.today().isoformat(), "failures": {}, "left_out": {},
                "checks": [], **{section: [] for section in SECTIONS}}
    for name in plan(names):
        left = deadline - time.monotonic()
        print(f"check_gpu: {name}, {max(0, left):.0f} s left", file=sys.stderr)
        begun = time.monotonic()
        row = run_one(machine, name, work, min(left, limit_s))
        note(document, name, row, time.monotonic() - begun)
        write(document, out)
    document["left_out"] = archive(work, out)
    write(document, out)
    return document


def note(document, name, row, seconds):
    """Adds the row to its section."""
    section, _, what = name.partition(" ")
    if section == "check":
        if "failed" in row:
            row = {"status": "failed", "reason": row["failed"], "figures": {}, "tests": []}
        document["checks"].append({"name": what, "seconds": seconds, **row})
        if row["status"] == "failed":
            document["failures"][name] = row["reason"]
    elif "failed" in row:
        document["failures"][name] = row["failed"]
    else:
        document[section].append(row)
        # Kernels of another machine save other tensors for their backward (cuDNN's reserve, an embedding bag's offsets): the table shows
        # how many.
        if section in ("trained", "ranks") and row["mismatches"]:
            document["failures"][name] = f"{row['mismatches']} outputs differ from the recorded ones"


def write(document, out):
    write_whole(out / "check_gpu.json", json.dumps(document, indent=1) + "\n")
    name = re.sub("[^a-z0-9]+", "-", document["device"].lower()).strip("-")
    text = to_markdown(document)
    write_whole(out / f"gpu-{name}-{document['date']}.md", text)
    return text


def archive(work, out):
    """Packs the checks' files into one archive, small files first. Returns name → bytes of the files left out."""
    left_out = {}
    room = ARCHIVE_BYTES
    partial = out / f".{ARCHIVE}.part"
    files = sorted((path for path in work.rglob("*") if path.is_file() and not path.is_symlink()),
                   key=lambda path: (path.stat().st_size, path))
    with tarfile.open(partial, "w:gz") as tar:
        for path in files:
            size = path.stat().st_size
            name = str(path.relative_to(work))
            packed = size if size > PACKED_AT_ONCE_BYTES else len(zlib.compress(path.read_bytes(), 1))
            if packed > room:
                left_out[name] = size
                continue
            room -= packed
            tar.add(path, arcname=name)
    partial.rename(out / ARCHIVE)
    return left_out
