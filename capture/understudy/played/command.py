"""`capture --as CARD`: runs the script on a card that is not there, in the command's own process."""

from __future__ import annotations

import atexit
import builtins
import ctypes
import gc
import os
import shutil
import sys
import tempfile

from .. import programs
from ..endings import USAGE, Refused
from ..start import at_root

FIRST = ("libcuda.so.1", "libcudart.so.13")  # which others need
# Choices that were made where nothing takes time must never reach a real card.
CACHES = {"TRITON_CACHE_DIR": "triton", "TORCHINDUCTOR_CACHE_DIR": "inductor"}
CUDA_MAJOR = "13"
NOT_HERE = ("{what}: torch and the script run on a driver that must be loaded before torch, so they need a process of their own; "
            "from a notebook: !understudy capture --as {card} -o DIR train.py")

_is_loaded = False


def prepare(arguments):
    """Sets torchrun's variables, and what torch reads once; must run before torch is imported. A card of this machine stays out of sight."""
    world = arguments.world_size or 1
    local = min(world, arguments.ranks_per_node)
    own = tempfile.mkdtemp(prefix="understudy-played-")
    made_by = os.getpid()
    atexit.register(lambda: os.getpid() == made_by and shutil.rmtree(own, ignore_errors=True))
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # as Triton does, which warns if nothing says so
    os.environ.update({name: os.path.join(own, folder) for name, folder in CACHES.items()})
    os.environ.update(RANK=str(arguments.rank), WORLD_SIZE=str(world), LOCAL_RANK=str(arguments.rank % local),
                      LOCAL_WORLD_SIZE=str(local), GROUP_RANK=str(arguments.rank // local), MASTER_ADDR="localhost", MASTER_PORT="29500",
                      KINETO_LOG_LEVEL="6", TORCH_NCCL_ENABLE_MONITORING="0", TORCHINDUCTOR_COMPILE_THREADS="1")


def load(arguments):
    """Loads the played driver, and torch above it. Returns the driver and the card."""
    global _is_loaded
    from . import cards

    if not _is_loaded and ("torch" in sys.modules or hasattr(builtins, "get_ipython")):
        raise Refused(NOT_HERE.format(what=f"--as {arguments.card}", card=arguments.card), USAGE)
    card = cards.find(arguments.card)
    prepare(arguments)
    folder = programs.folder().parent / "lib" / ("played" if programs.IS_CLONE else "understudy/played")
    try:  # before torch: by their SONAMEs, the dynamic linker takes them for those of torch's own wheel
        driver, *_ = [ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL) for library in (
            *(folder / name for name in FIRST), *sorted(folder.glob("lib*.so.*")))]
    except OSError as problem:
        raise Refused(f"--as {arguments.card}: the played driver cannot be loaded ({problem}); " + (
            "scripts/build builds it where CUDA's headers are" if programs.IS_CLONE else "install the package again"), USAGE) from None
    os.environ["TRITON_LIBCUDA_PATH"] = str(folder)
    driver.played_use(ctypes.byref(card), min(arguments.world_size or 1, arguments.ranks_per_node))
    with at_root():
        import torch
        import torch._dynamo  # noqa: F401: once, not in each process of --all-kinds
    if (torch.version.cuda or "").partition(".")[0] != CUDA_MAJOR:
        built = f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPUs alone"
        raise Refused(f"--as {arguments.card}: torch {torch.__version__} is built for {built}, and the played driver for CUDA {CUDA_MAJOR}; "
                      "use a build of torch for it", USAGE)
    _is_loaded = True
    gc.freeze()  # it stays until the process ends
    atexit.register(gc.unfreeze)  # else Triton's libraries say that it leaked
    return driver, card


def make_capture(arguments):
    driver, card = load(arguments)
    from . import cards, host, ranks, recorder, values

    cards.check_kernels(card)
    read = values.Values()
    read.install(driver)
    made = ranks.Ranks(arguments.rank, arguments.world_size or 1)
    made.install()
    host.limit()
    return recorder.PlayedCapture(arguments.output, read, made, card.name.decode())


def refusal(error):
    """Returns why the script cannot be captured so, as one line, or None if the error is the script's own."""
    from . import host, values
    return values.refusal(error) or host.refusal(error)
