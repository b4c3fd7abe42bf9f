#!/usr/bin/env python3
"""Holds `generate --batch` against the program captured with that batch: held.py BIN [NAME…] [--keep FOLDER]. A Markdown table.

Each step of programs.py is captured with a batch of 4 and of 10. The benchmark of the first with `--batch 4:10` must have the
second's operators, with the same sizes, strides and numbers. Ends with status 1 if one has not.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FROM, TO = 4, 10


def calls_of(bench):
    """(operator, arguments, results) of each instruction, with tensors as their layouts."""
    slots, calls = [], []
    for line in zipfile.ZipFile(bench).read("programs/0.jsonl").decode().splitlines()[1:]:
        record = json.loads(line)
        if "slot" in record:
            slots.append((record["dtype"], record["sizes"], record.get("strides"), record.get("offset", 0), record.get("external", False)))
        elif "i" in record and "op" in record:
            calls.append(record)

    def shown(value):
        if isinstance(value, list):
            return [shown(item) for item in value]
        return slots[int(value[1:])] if isinstance(value, str) and value[:1] == "%" else value
    return [(call["op"], shown(call.get("args", [])), shown(call.get("results", []))) for call in calls]


def compared(changed, own):
    """Returns what differs first; empty if nothing does."""
    if [call[0] for call in changed] != [call[0] for call in own]:
        return f"{len(changed)} operators for {len(own)}"
    for one, other in zip(changed, own):
        if one != other:
            return f"{one[0]}: {one[1]} -> {one[2]} for {other[1]} -> {other[2]}"
    return ""


def difference(programs, name, work):
    """Returns the number of operators, and what differs."""
    for batch in (FROM, TO):
        folder = work / f"{name}-{batch}"
        if not folder.exists():
            subprocess.run([sys.executable, HERE / "programs.py", name, str(batch), folder], check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        subprocess.run([programs / "generate", folder, "-o", f"{folder}.et", "-q"], check=True)
    changed, own = work / f"{name}.et", calls_of(work / f"{name}-{TO}.et")
    done = subprocess.run([programs / "generate", work / f"{name}-{FROM}.et", "--batch", f"{FROM}:{TO}", "-o", changed, "-q"],
                          stderr=subprocess.PIPE, text=True)
    return len(own), " ".join(done.stderr.split()) if done.returncode else compared(calls_of(changed), own)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", type=Path, help="the folder of generate")
    parser.add_argument("names", nargs="*", help="steps (default: all)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep captures there, and go on with them")
    options = parser.parse_args()
    missed = 0
    print("| program | operators | with a batch of 10 |\n| --- | ---: | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names or re.findall(r"@program\ndef (\w+)", (HERE / "programs.py").read_text()):
            operators, differs = difference(options.programs, name, options.keep or Path(folder))
            missed += bool(differs)
            print(f"| {name} | {operators} | {differs or 'equal'} |", flush=True)
    return 1 if missed else 0


sys.exit(main())
