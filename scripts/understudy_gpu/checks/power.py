"""Reads NVML while the GPU idles and while it runs a matrix product."""

import statistics
import time

import torch

from .. import nvml as nvml_library
from ..machine import NotRun

IDLE_S, BUSY_S = 1.5, 2.0
SIDE = 8192
MOST_PERIOD_MS = 105  # longest period of the counter, so that the energy of 2 s is known to 5 %: an H100's changes every 100 ms
POWER_SHARE = 0.2  # allowed difference between energy ÷ time and the mean of the power readings
SM_UTILISATION, TENSOR_UTILISATION, DRAM_UTILISATION = 2, 5, 10  # nvmlGpmMetricId_t
LEAST_TENSOR_PERCENT = 30


def open_nvml():
    try:
        return nvml_library.Nvml()
    except OSError as problem:
        raise NotRun(f"no NVML: {problem}") from problem


def _matrices(fill):
    make = torch.zeros if fill == "zeros" else torch.randn
    return [make(SIDE, SIDE, device="cuda", dtype=torch.bfloat16) for _ in range(3)]


def _products(matrices, until):
    a, b, c = matrices
    while time.monotonic() < until:
        for _ in range(4):
            torch.mm(a, b, out=c)
        torch.cuda.synchronize()


def _period_ms(nvml):
    """Returns the time between changes of the counter while the GPU idles; None if it did not change twice."""
    changes, last, end = [], nvml.energy_j(), time.monotonic() + IDLE_S
    while time.monotonic() < end:
        now = nvml.energy_j()
        if now != last:
            changes.append(time.monotonic())
            last = now
        time.sleep(0.0005)
    gaps = [b - a for a, b in zip(changes, changes[1:])]
    return 1e3 * statistics.median(gaps) if gaps else None


def _at_work(nvml, fill, findings):
    matrices = _matrices(fill)
    _products(matrices, time.monotonic() + 0.3)
    power, clocks, bits, begun, joules = [], [], 0, time.monotonic(), nvml.energy_j()
    while time.monotonic() < begun + BUSY_S:
        _products(matrices, time.monotonic() + 0.02)
        power.append(nvml.power_w())
        clocks.append(nvml.clock_mhz())
        bits |= nvml.throttle_bits()
    mean_w = (nvml.energy_j() - joules) / (time.monotonic() - begun)
    figures = findings.figures
    figures[f"{fill}_w"] = statistics.mean(power)
    figures[f"{fill}_w_by_energy"] = mean_w
    figures[f"{fill}_mhz"] = statistics.median(clocks)
    figures[f"{fill}_power_cap"] = "yes" if bits & nvml_library.POWER_CAP else "no"
    ailing = [text for bit, text in nvml_library.AILING.items() if bits & bit]
    findings.expect(f"clocks are not held down ({fill})", not ailing, "no reason", ", ".join(ailing))
    findings.within(f"energy by time, W ({fill})", mean_w, statistics.mean(power), POWER_SHARE)


def energy(_machine, findings, _work):
    nvml = open_nvml()
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    figures = findings.figures
    figures["idle_w"] = nvml.power_w()
    period = _period_ms(nvml)
    figures["counter_period_ms"] = period
    findings.expect("the energy counter moves every", period is not None and period <= MOST_PERIOD_MS,
                    f"{MOST_PERIOD_MS} ms at most",
                    "no change" if period is None else f"{period:.0f} ms")
    for fill in ("zeros", "random"):
        _at_work(nvml, fill, findings)


def gpm(_machine, findings, _work):
    nvml = open_nvml()
    status = nvml.gpm_status()
    if status != "supported":
        raise NotRun(f"GPM: {status}")
    matrices = _matrices("random")
    names = {SM_UTILISATION: "sm_percent", TENSOR_UTILISATION: "tensor_percent",
             DRAM_UTILISATION: "dram_percent"}
    try:
        values = nvml.gpm(list(names), lambda: _products(matrices, time.monotonic() + 1))
    except OSError as problem:
        raise NotRun(str(problem)) from problem
    for number, name in names.items():
        findings.figures[name] = values[number]
    tensor = values[TENSOR_UTILISATION]
    findings.expect("tensor cores are seen at work", (tensor or 0) >= LEAST_TENSOR_PERCENT,
                    f"{LEAST_TENSOR_PERCENT} % at least", tensor)
