"""The card that a script is told it runs on."""

from __future__ import annotations

import re
from types import SimpleNamespace

from ..endings import USAGE, Refused
from ..programs import Error
from ..verbs import predict

# Data sheets do not state the compute capability. The key is the word of a card's name that identifies its chip.
CAPABILITY = {"P4": (6, 1), "P100": (6, 0), "V100": (7, 0), "T4": (7, 5), "A100": (8, 0), "A30": (8, 0), "A10": (8, 6), "A40": (8, 6),
              "3090": (8, 6), "L4": (8, 9), "L40S": (8, 9), "4090": (8, 9), "H100": (9, 0), "H200": (9, 0), "H20": (9, 0),
              "GH200": (9, 0), "B200": (10, 0), "GB200": (10, 0), "B300": (10, 3), "GB300": (10, 3), "BLACKWELL": (12, 0),
              "MI210": (9, 0), "MI250X": (9, 0), "MI300X": (9, 4), "MI325X": (9, 4), "MI350X": (9, 5), "MI355X": (9, 5)}
KIBI = 1024


def find(name):
    """Returns the properties of a card, as torch.cuda.get_device_properties() does, from the data sheet that `predict --card` has."""
    try:
        sheet = predict(card=name).to_dict()
    except Error as problem:
        raise Refused(f"--as {name}: {problem}", USAGE) from None
    words = re.split(r"[^A-Z0-9]+", sheet["Device"].upper())
    capability = next((CAPABILITY[word] for word in words if word in CAPABILITY), None)
    if capability is None:
        raise Refused(f"--as {name}: the compute capability of {sheet['Device']} is not known; name another card", USAGE)
    return SimpleNamespace(
        name=sheet["Device"], major=capability[0], minor=capability[1], total_memory=int(sheet.get("Dev_Mem", 0) * KIBI**3),
        multi_processor_count=int(sheet["Num_Sm"]), L2_cache_size=int(sheet["L2Cache"] * KIBI**2),
        clock_rate=int(sheet.get("Freq", 0) * 1000), warp_size=64 if "AMD" in words else 32, max_threads_per_block=KIBI,
        max_threads_per_multi_processor=2048, regs_per_multiprocessor=64 * KIBI, is_integrated=False, is_multi_gpu_board=False,
        gcnArchName=sheet["Device"])
