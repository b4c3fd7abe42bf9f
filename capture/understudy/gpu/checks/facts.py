"""Facts about this machine, and the queries that its driver allows."""

import os
import platform
import subprocess
from pathlib import Path

import torch
from ...nvml import Nvml

NEEDED = ["nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetClockInfo",
          "nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetMaxClockInfo"]


def run(machine, findings, work):
    figures = findings.figures
    figures["torch"] = torch.__version__
    figures["kernel"] = platform.release()
    figures["user"] = os.getuid()
    figures["cpus"] = len(os.sched_getaffinity(0))
    figures["perf_event_paranoid"] = _read("/proc/sys/kernel/perf_event_paranoid")
    if machine.device == "cpu":
        figures["blas"] = "MKL" if torch.backends.mkl.is_available() else "other"
        return
    properties = torch.cuda.get_device_properties(0)
    figures["gpu"] = properties.name
    figures["gpus"] = torch.cuda.device_count()
    figures["memory_bytes"] = properties.total_memory
    figures["multiprocessors"] = properties.multi_processor_count
    figures["capability"] = f"{properties.major}.{properties.minor}"
    figures["cuda"] = torch.version.cuda
    figures["cudnn"] = torch.backends.cudnn.version() if torch.backends.cudnn.is_available() else "none"
    figures["nccl"] = ".".join(map(str, torch.cuda.nccl.version())) \
        if torch.distributed.is_nccl_available() else "none"
    figures["profiling_for_admin_only"] = _driver_parameter("RmProfilingAdminOnly")
    figures["smi"] = _smi()
    _ask_driver(findings)


def _ask_driver(findings):
    try:
        nvml = Nvml()
    except OSError as problem:
        findings.expect("the driver's library", False, "libnvidia-ml.so.1", problem)
        return
    findings.figures["driver"] = nvml.driver_version()
    missing = [name for name in NEEDED if not nvml.has(name)]
    findings.expect("NVML has what a report needs", not missing, "all", f"without {', '.join(missing)}")


def _read(path):
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return "unknown"


def _driver_parameter(name):
    for line in _read("/proc/driver/nvidia/params").splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return value.strip()
    return "unknown"


def _smi():
    try:
        done = subprocess.run(
            ["nvidia-smi", "--format=csv,noheader", "--query-gpu=persistence_mode,mig.mode.current,"
             "compute_mode,clocks.applications.graphics,ecc.mode.current"],
            capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return "not there"
    return done.stdout.strip() or "no answer"
