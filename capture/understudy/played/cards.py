"""The card that a script is told it runs on."""

from __future__ import annotations

import ctypes
import re

from ..endings import USAGE, Refused
from ..programs import Error
from ..verbs import predict

KIBI = 1024
# Data sheets do not state the compute capability. The key is the word of a card's name that identifies its chip.
CAPABILITY = {"T4": (7, 5), "A100": (8, 0), "A30": (8, 0), "A10": (8, 6), "A40": (8, 6), "3090": (8, 6), "L4": (8, 9), "L40S": (8, 9),
              "4090": (8, 9), "H100": (9, 0), "H200": (9, 0), "H20": (9, 0), "GH200": (9, 0), "B200": (10, 0), "GB200": (10, 0),
              "B300": (10, 3), "GB300": (10, 3), "BLACKWELL": (12, 0)}
# Shared memory of a multiprocessor in KiB, by capability; a block may have 1 KiB less. CUDA C++ Programming Guide, "Technical
# Specifications per Compute Capability".
SHARED_KIB = {(7, 5): 65, (8, 0): 164, (8, 6): 100, (8, 9): 100, (9, 0): 228, (10, 0): 228, (10, 3): 228, (12, 0): 100}


class Card(ctypes.Structure):
    """What capture/played/played.h calls a card."""

    _fields_ = [("name", ctypes.c_char * 64), ("memory_bytes", ctypes.c_size_t), *((name, ctypes.c_int) for name in (
        "major", "minor", "multiprocessors", "shared_per_multiprocessor", "shared_opt_in", "l2_bytes", "clock_khz", "memory_clock_khz",
        "bus_bits"))]


def find(name):
    """Returns a card, from the data sheet that `predict --card` has."""
    try:
        sheet = predict(card=name).to_dict()
    except Error as problem:
        raise Refused(f"--as {name}: {problem}", USAGE) from None
    words = re.split(r"[^A-Z0-9]+", sheet["Device"].upper())
    capability = next((CAPABILITY[word] for word in words if word in CAPABILITY), None)
    if capability is None:
        raise Refused(f"--as {name}: PyTorch's CUDA builds have no kernels for {sheet['Device']}, so no step can be recorded as on it; "
                      "capture as on an NVIDIA card (H100), and predict for this one: understudy predict bench.et --card", USAGE)
    shared = SHARED_KIB[capability] * KIBI
    return Card(name=sheet["Device"].encode(), memory_bytes=int(sheet.get("Dev_Mem", 0) * KIBI**3), major=capability[0],
                minor=capability[1], multiprocessors=int(sheet["Num_Sm"]), shared_per_multiprocessor=shared, shared_opt_in=shared - KIBI,
                l2_bytes=int(sheet["L2Cache"] * KIBI**2), clock_khz=int(sheet.get("Freq", 0) * 1000), memory_clock_khz=0, bus_bits=0)


def check_kernels(card):
    """Refuses a card that this torch has no kernels for. Processes that are forked afterwards cannot use CUDA."""
    import torch

    built_for = torch.cuda.get_arch_list()
    runs = {int(arch.partition("_")[2].rstrip("af")) for arch in built_for}
    if not any(each // 10 == card.major and each % 10 <= card.minor for each in runs):
        raise Refused(f"--as {card.name.decode()}: this torch has kernels for {', '.join(built_for)} alone; name another card, or use "
                      "another build of torch", USAGE)
