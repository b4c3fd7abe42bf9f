"""`capture --as CARD`: runs the script on tensors without contents, in the command's own process."""

from __future__ import annotations

import os
import sys

from .. import set_command_capture
from ..endings import FAILED, INTERRUPTED
from . import kinds


def prepare(arguments):
    """Sets torchrun's variables; must run before torch is imported. A card of this machine, if any, stays out of sight."""
    world = arguments.world_size or 1
    local = min(world, arguments.ranks_per_node)
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    os.environ.setdefault("KINETO_LOG_LEVEL", "5")  # it would complain that it finds no driver
    os.environ.update(RANK=str(arguments.rank), WORLD_SIZE=str(world), LOCAL_RANK=str(arguments.rank % local),
                      LOCAL_WORLD_SIZE=str(local), GROUP_RANK=str(arguments.rank // local), MASTER_ADDR="localhost",
                      MASTER_PORT="29500")


def make_capture(arguments):
    prepare(arguments)
    here = os.getcwd()
    os.chdir("/")  # as for a real capture: command.py, make_capture()
    import torch  # noqa: F401
    os.chdir(here)
    from . import accumulate, attention, cards, cuda, groups, host, mode, recorder, values

    card = None if arguments.card == "cpu" else cards.find(arguments.card)
    entered = mode.enter(on_cuda=card is not None)
    read = values.Values()
    read.install(entered)
    host.install(entered)
    accumulate.install(entered)
    if card is not None:
        cuda.install(card, entered.memory, min(arguments.world_size or 1, arguments.ranks_per_node))
        attention.install(card)
    made = groups.Groups(entered, arguments.rank, arguments.world_size or 1, "nccl" if card else "gloo")
    made.install()
    return recorder.FakeCapture(arguments.output, entered, read, made, card)


def run(arguments, command):
    """`command`: the module command.py, whose functions run the script and print errors. Returns the exit status."""
    if arguments.all_kinds:
        return kinds.capture_all(arguments, sys.argv[1:], command.say)
    capture = make_capture(arguments)
    set_command_capture(capture)
    from ..output import CaptureFailed
    from ..recorder import CaptureDone
    from .values import refusal
    try:
        command.run_script(arguments)
    except CaptureDone:
        pass
    except SystemExit as end:
        if end.code not in (None, 0):
            command.end_early(capture, "the script ended with an error")
            raise
    except KeyboardInterrupt:
        command.end_early(capture, "interrupted")
        return INTERRUPTED
    except BaseException as error:
        reason = str(error) if isinstance(error, CaptureFailed) else refusal(error)
        if reason is None:
            command.print_script_error(error)
        command.end_early(capture, reason or "the script failed, see above")
        return FAILED
    try:
        capture.close()
    except CaptureFailed as problem:
        command.say(problem)
        if capture.steps_seen == 0:
            command.say("does the script call understudy.step() after each step?")
        return FAILED
    command.say(capture.summary)
    return 0
