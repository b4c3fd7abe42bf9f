"""`--all-kinds`: captures each rank that the first one exchanges messages with, directly or not: the stages of its pipeline."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .. import programs
from ..output import DESCRIPTION, OutputFolder


def capture_all(arguments, words, say):
    """`words`: the command's own, as typed. Returns the exit status: that of the first rank that fails."""
    output = OutputFolder(arguments.output)
    with tempfile.TemporaryDirectory() as folder:
        waiting, parts = [arguments.rank], {}
        while waiting:
            rank = waiting.pop(0)
            part = Path(folder) / str(rank)
            # The last of two equal options counts: these stand before the script.
            place = words.index(arguments.script)
            options = [*(word for word in words[:place] if word != "--all-kinds"), "-o", str(part), "--rank", str(rank)]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE} if parts else {}
            done = subprocess.run([sys.executable, *programs.CAPTURE, *options, *words[place:]], text=True, check=False,
                                  env=programs.environment(), **quiet)
            if done.returncode != 0:
                say(f"rank {rank} failed; nothing was written")
                sys.stderr.write(done.stderr or "")
                return done.returncode
            parts[rank] = json.loads((part / DESCRIPTION).read_text())
            waiting += [each for each in parts[rank]["ranks"][0]["partners"] if each not in (*parts, *waiting)]
        output.begin()
        for rank in parts:
            for path in (Path(folder) / str(rank)).glob("rank-*"):
                shutil.move(path, output.file(path.name))
        whole = parts[arguments.rank]
        whole["ranks"] = [parts[rank]["ranks"][0] for rank in sorted(parts)]
        output.file(DESCRIPTION).write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
        output.publish()
    listed = ", ".join(map(str, sorted(parts)))
    say(f"wrote {output.folder}\n  ranks         {listed}, of {whole['world_size']}\n  next          "
        f"{next_command(output.folder, whole['world_size'], len(parts))}")
    return 0


def next_command(folder, world_size, captured):
    rest = f" --world-size {world_size}" if captured < world_size else ""
    return f"generate {shlex.quote(str(folder))}{rest} -o bench.et"
