"""Checks whether programs start on the device, and page-locked memory."""

import time

from ..layout import PROGRAMS, SAMPLES
from ..profiles import last_step

PINNED = "Memcpy HtoD (Pinned -> Device)"
COPIES = "gpu_memcpy"


def loading(machine, findings, work):
    bench = work / "loading.et"
    commands = {"inspect": ["--version"], "compare": ["--version"],
                "generate": [SAMPLES / "mlp", "-o", bench],
                "replay": [bench, "--device", machine.device, "--warmup", 0, "--iterations", 2,
                           "--passes", 1]}
    for name, words in commands.items():
        begin = time.monotonic()
        machine.run(machine.bin / name, *words)
        findings.figures[f"{name}_s"] = time.monotonic() - begin
    modules = sorted(path.name for path in machine.libraries.glob("*.so"))
    findings.expect("modules lie beside the programs", "libunderstudy_allocations.so" in modules,
                    "libunderstudy_allocations.so among them", ", ".join(modules))


def pinned(machine, findings, work):
    machine.capture(PROGRAMS / "pinned.py", work / "pinned", "--warmup", 2, "--timed", 5, "--profiled", 1)
    bench = machine.generate(work / "pinned", work / "pinned.et")
    original = [event["name"] for event in last_step(work / "pinned", COPIES)]
    events, _ = machine.profiled_replay(bench, work / "pinned.json")
    replayed = [event["name"] for event in events if event.get("cat") == COPIES]
    for whose, names in (("original", original), ("replay", replayed)):
        findings.figures[f"{whose}_copies"] = len(names)
        findings.expect(f"the {whose} copies from page-locked memory", PINNED in names, PINNED,
                        ", ".join(sorted(set(names))) or "no copies")
