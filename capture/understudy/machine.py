"""Facts about the machine and about this process that a capture records."""

from __future__ import annotations

import os
import platform
import resource
import sys
from pathlib import Path

import torch

from . import nvml
from .kernels import kernel_variables


def peak_rss():
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def minor_faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def cpu_wait_ns():
    """Returns how long this process's threads have been ready and without a CPU, together; None if the system does not say."""
    try:
        return sum(int(path.read_text().split()[1]) for path in Path("/proc/self/task").glob("*/schedstat"))
    except (OSError, IndexError):
        return None


def current_rss():
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def uses_gpu():
    return torch.cuda.is_available() and torch.cuda.is_initialized()


def peak_device_bytes():
    return torch.cuda.max_memory_allocated()  # 0 until a GPU is used


def reset_device_peak():
    if uses_gpu():
        torch.cuda.reset_peak_memory_stats()


def device_allocations():
    """Returns the number of allocations of CUDA's allocator so far; 0 until a GPU is used."""
    return torch.cuda.memory_stats().get("allocation.all.allocated", 0)


def describe_gpu():
    """Returns the GPU's properties, besides the model, that kernel times depend on; None without a GPU."""
    if not torch.cuda.is_available():
        return None
    told = {"cudnn": torch.backends.cudnn.version(), "nccl": _nccl_version()}
    try:
        gpu = nvml.Nvml()
        told.update({"driver": gpu.driver_version(), "sm_mhz": gpu.clock_mhz(),
                     "memory_mhz": gpu.clock_mhz(nvml.MEMORY), "most_sm_mhz": gpu.most_clock_mhz(),
                     "power_limit_w": gpu.power_limit_w()})
    except OSError as problem:
        told["no_nvml"] = str(problem)
    return told


def _nccl_version():
    if not (torch.distributed.is_available() and torch.distributed.is_nccl_available()):
        return None
    return ".".join(map(str, torch.cuda.nccl.version()))


def _cpu_model():
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("model name", "CPU part")):  # Arm's cores have a number
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def describe_environment():
    """Returns the properties that times depend on; no host name, no user, no path."""
    linux = hasattr(os, "sched_getaffinity")
    return {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu_model": _cpu_model(),
        "cpus_usable": len(os.sched_getaffinity(0)) if linux else os.cpu_count(),
        "threads": torch.get_num_threads(),
        "interop_threads": torch.get_num_interop_threads(),
        "devices": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())],
        "cuda": torch.version.cuda if torch.cuda.is_available() else None,
        "gpu": describe_gpu(),
        "variables": kernel_variables(),
        "load_average": os.getloadavg()[0],
    }
