"""`--all-kinds`: captures each rank that the first one exchanges messages with, directly or not: the stages of its pipeline."""

from __future__ import annotations

import contextlib
import json
import multiprocessing.connection
import os
import shutil
import sys
import tempfile
from pathlib import Path

from ..output import DESCRIPTION, OutputFolder
from ..summary import next_command, size_text
from . import command


_told = None  # where this process tells its partners, if a command waits for them


def tell(partners):
    if _told is not None:
        _told.send(sorted(partners))


def is_part():
    return _told is not None


def _run(words, capture, said, told):
    global _told
    _told = told
    for number in (1, 2) if said else ():
        os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    sys.argv[1:] = words
    capture()


def start(words, capture, said=None):
    """Captures as a command of these words in a process of its own, which need not load torch, and which never returns to the frames of this
    one. Returns it, and the connection by which it tells its partners, which ends with it."""
    reading, writing = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_run, args=(words, capture, said, writing))
    child.start()
    writing.close()
    return child, reading


def capture_all(arguments, words, say, capture):
    """`words`: the command's own, as typed, which `capture` runs. Returns the exit status: that of the first rank that fails."""
    output = OutputFolder(arguments.output)
    command.load(arguments)
    import torch.distributed.pipelining  # noqa: F401: once, not in each stage
    with tempfile.TemporaryDirectory() as folder:
        waiting, running, seen, done = [arguments.rank], {}, {arguments.rank}, 0
        # The part's -o and --rank follow the user's, because the last one counts. They precede the script: what follows it is its own.
        place = words.index(arguments.script)
        options = [word for word in words[:place] if word != "--all-kinds"]
        while waiting or running:
            while waiting and len(running) < len(os.sched_getaffinity(0)):
                rank = waiting.pop(0)
                part = [*options, "-o", f"{folder}/{rank}", "--rank", str(rank), *words[place:]]
                child, told = start(part, capture, None if rank == arguments.rank else f"{folder}/{rank}.said")
                running[told] = rank, child
            for told in multiprocessing.connection.wait(running):
                with contextlib.suppress(EOFError):
                    partners = {*told.recv()} - seen
                    seen |= partners
                    waiting += sorted(partners)
                    continue
                rank, child = running.pop(told)
                child.join()
                if child.exitcode != 0:
                    for _, other in running.values():
                        other.terminate()
                        other.join()
                    say(f"rank {rank} failed; nothing was written")
                    said = Path(folder, f"{rank}.said")
                    sys.stderr.write(said.read_text(errors="replace") if said.exists() else "")
                    return child.exitcode
                done += 1
                say(f"kind {done} of {len(seen)}: rank {rank}")
        parts = {rank: json.loads(Path(folder, str(rank), DESCRIPTION).read_text()) for rank in sorted(seen)}
        output.begin()
        for rank in parts:
            for path in (Path(folder) / str(rank)).glob("rank-*"):
                shutil.move(path, output.file(path.name))
        whole = parts[arguments.rank]
        whole["ranks"] = [each["ranks"][0] for each in parts.values()]
        output.file(DESCRIPTION).write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
        output.publish()
    listed = ", ".join(map(str, parts))
    most = max(whole["ranks"], key=lambda rank: rank["peak_tensor_bytes"])
    say(f"wrote {output.folder}\n  ranks         {listed}, of {whole['world_size']}\n"
        f"  memory        {size_text(most['peak_tensor_bytes'])} of tensors at the peak, on rank {most['rank']}\n  next          "
        f"{next_command(output.folder, whole['world_size'], len(parts))}")
    return 0
