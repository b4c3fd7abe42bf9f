"""`capture --as CARD`: runs the script on tensors without contents, in the command's own process."""

from __future__ import annotations

import atexit
import gc
import os

from ..start import at_root


def prepare(arguments):
    """Sets torchrun's variables; must run before torch is imported. A card of this machine, if any, stays out of sight."""
    world = arguments.world_size or 1
    local = min(world, arguments.ranks_per_node)
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # it would complain that it finds no driver
    os.environ.update(RANK=str(arguments.rank), WORLD_SIZE=str(world), LOCAL_RANK=str(arguments.rank % local),
                      LOCAL_WORLD_SIZE=str(local), GROUP_RANK=str(arguments.rank // local), MASTER_ADDR="localhost",
                      MASTER_PORT="29500", CUDA_VISIBLE_DEVICES="")


def load(arguments):
    """Loads torch, as on a machine without cards, and what a mode needs of it."""
    prepare(arguments)
    with at_root():
        import torch._dynamo  # noqa: F401: a mode would load it
    gc.freeze()  # it stays until the process ends
    atexit.register(gc.unfreeze)  # else Triton's libraries say that it leaked


def make_capture(arguments):
    load(arguments)
    from . import accumulate, attention, cards, cuda, groups, host, mode, recorder, values

    card = None if arguments.card == "cpu" else cards.find(arguments.card)
    entered = mode.enter(on_cuda=card is not None)
    read = values.Values()
    read.install(entered)
    host.install(entered)
    accumulate.install(entered)
    if card is not None:
        cuda.install(card, entered.memory, min(arguments.world_size or 1, arguments.ranks_per_node))
        attention.install(card, entered)
    made = groups.Groups(entered, arguments.rank, arguments.world_size or 1, "nccl" if card else "gloo")
    made.install()
    return recorder.FakeCapture(arguments.output, entered, read, made, card)


def refusal(error):
    """Returns why the script cannot be captured so, as one line, or None if the error is the script's own."""
    from . import values
    return values.refusal(error)
