"""Runs the commands of the texts as a reader would type them: a page's in order, in a folder of its own with the clone's files.
commands_test.py runs the quick ones; commands_test.py --all [PAGE…] all, of all texts or these. Prints what became of each."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from docs_test import ROOT, texts

COMMENT = re.compile(r"(^|\s+)#.*", re.MULTILINE)
PROGRAMS = "calibrate|compare|compose|fleet|for|generate|inspect|operators|podman|predict|replay|shard|suite|understudy"
SETTING = re.compile(r"^\s*((export )?\w+=(\$\([^)]*\)|\S)*\s*)+")
# Why a command is not run, by its words. What a reader puts in is in capitals, or a path of no system.
REASONS = {"the reader's own": r"…|\.{3}|(?<=[ =])/(path|new)/|(?<![\w$.-])[A-Z][A-Z_]*(?![\w=])",
           "a GPU": r"^(?!.*--as ).*(--device (cuda|npu)|--counters|tests/gpu/)",
           "Slurm": "slurm", "the network": "^(pip install|podman) "}
LONG = r"^(\w+=\S* )*(python3 )?((scripts|tests|gallery|fleet_samples)/(?!mpirun)|cmake|strace|build/\S*benchmark)|(^|[ /])(capture|calibrate|nightly|replay|suite) "


def is_program(line):
    name = SETTING.sub("", line).split()[0]
    return re.match("(" + PROGRAMS + ")$|(build|fleet_samples|gallery|scripts|tests)/", name) or shutil.which(name)


def commands_of(text):
    """Line and text of each: of blocks that begin with a program, and code in sentences that names a program and a file."""
    for match in re.finditer(r"(?<=\n\n)(?:    .*\n)+|`([^`]+)`", text):
        line, part = text.count("\n", 0, match.start()) + 1, match[1]
        if part and " " in part and re.search(r"[/.]\w|\w/", part) and is_program(part):
            yield line, part.replace("\n", " ")
        elif not part and is_program(COMMENT.sub("", match[0])):
            command = ""
            for part in match[0].splitlines():
                command += part[4:] + "\n"
                if not part.endswith("\\") and subprocess.run(["bash", "-nc", command], stderr=subprocess.DEVNULL).returncode == 0:
                    yield line, command
                    line, command = line + command.count("\n"), ""
            if command:
                yield line, command  # which bash refuses


# Prints a row for each command; returns what became of them.
def run_page(page, reasons):
    settings, missing, outcomes = "", {}, []
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "understudy"
        for line, command in commands_of((ROOT / page).read_text()):
            code, begun, output = COMMENT.sub("", command).strip(), time.monotonic(), ""
            if not code:
                continue
            lacks = [what for what, words in reasons.items() if re.search(words, f"{code} ")] + [
                f"line {missing[word]}" for word in re.findall(r"[\w./-]*[\w.-]", code) if word in missing]
            outcome = f"needs {lacks[0]}" if lacks else "ran"
            if not (lacks or clone.exists()):
                linked = os.listdir(ROOT) if "more time" in reasons else ["build/release", ".venv", ".git"]
                shutil.copytree(ROOT, clone, symlinks=True, ignore=lambda at, _: ["build", *linked] if at == str(ROOT) else [])
                for name in linked:
                    (clone / name).parent.mkdir(exist_ok=True)
                    (clone / name).symlink_to(ROOT / name)
            if not lacks:
                done = subprocess.run(["timeout", "-k", "9", "1h", "bash", "-c", settings + command], cwd=clone, text=True,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                if done.returncode not in (0, *map(int, re.findall(r"status (\d+)", command))):
                    outcome, output = f"FAILED: {done.returncode}", done.stdout[-2999:]
            settings += command if SETTING.fullmatch(code) else ""
            if outcome != "ran":
                missing.update((word, line) for word in re.findall(r"(?:-o|>|--(?:checksums|emit|operator-times|report|rows)) (\S*[^/\s])", code))
            print(f"{page}:{line:<5}{time.monotonic() - begun:6.1f} s  {outcome:22}  {code}\n{output}", end="", flush=True)
            outcomes.append(outcome)
    return outcomes


def main():
    pages = sys.argv[2:] or [str(path.relative_to(ROOT)) for path in texts()]
    reasons = REASONS if sys.argv[1:] else {**REASONS, "more time": LONG}
    os.environ["PATH"] = f"{ROOT}/build/release/bin:{ROOT}/.venv/bin:{os.environ['PATH']}"
    outcomes = [outcome for page in pages for outcome in run_page(page, reasons)]
    print(*(f"{outcomes.count(outcome)} {outcome}" for outcome in sorted(set(outcomes))), sep=", ")
    sys.exit("ran" not in outcomes or any(outcome.startswith("FAILED") for outcome in outcomes))


if __name__ == "__main__":
    main()
