"""Records collectives in NCCL's form on machines without a GPU."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import torch

from . import job
from .endings import USAGE, Refused

REDUCTIONS = ("allreduce", "allreduce_coalesced", "reduce", "reduce_scatter",
              "_reduce_scatter_base", "reduce_scatter_tensor_coalesced")


def use_nccl_form() -> None:
    """From now on, groups with the Gloo backend record their collectives in NCCL's form.

    Builds capture_backend.cpp on first use (a C++ compiler and ninja are needed) and registers it as backend `nccl_form`.
    init_process_group and new_group use it instead of `gloo`.
    """
    source = Path(__file__).resolve().with_name("capture_backend.cpp")
    for program, package in (("ninja", "pip install ninja"), (os.environ.get("CXX", "c++").split()[0], "on Debian g++")):
        if shutil.which(program) is None:
            raise Refused(f"collectives in NCCL's form need {program} on the path, to build {source.name}: install it ({package})", USAGE)
    from torch.distributed import Backend, ProcessGroupGloo, distributed_c10d
    from torch.utils import cpp_extension

    native = cpp_extension.load("understudy_nccl_form", [str(source)],
                                extra_cflags=["-O1", "-std=c++20", "-DUSE_DISTRIBUTED"])

    def create(options, _unused):
        gloo = ProcessGroupGloo(options.store, options.group_rank, options.group_size,
                                timeout=options.timeout)
        return native.create(gloo, options.global_ranks_in_group)

    Backend.register_backend("nccl_form", create, extended_api=True, devices=["cpu"])
    Backend.default_device_backend_map["cpu"] = "nccl_form"

    def substituting(original):
        def wrapper(*args, **kwargs):
            args = [_substitute(value) for value in args]
            if kwargs.get("backend") is not None:
                kwargs["backend"] = _substitute(kwargs["backend"])
            return original(*args, **kwargs)
        return wrapper

    for name in ("init_process_group", "new_group"):
        wrapped = substituting(getattr(distributed_c10d, name))
        setattr(distributed_c10d, name, wrapped)
        setattr(torch.distributed, name, wrapped)


class ReduceOpLabels:
    """While entered, each reduction called from Python has a label with its operator, which torch does not record. Not needed in NCCL's
    form, which records the operator."""

    def __init__(self):
        self._restore = []

    def __enter__(self):
        if job.is_distributed() and not _is_nccl_form():
            group = torch.distributed.ProcessGroup
            for name in REDUCTIONS:
                self._restore.append((name, getattr(group, name)))
                setattr(group, name, _labelled(getattr(group, name)))
        return self

    def __exit__(self, *_):
        for name, original in self._restore:
            setattr(torch.distributed.ProcessGroup, name, original)
        self._restore.clear()


def _is_nccl_form():
    return torch.distributed.Backend.default_device_backend_map.get("cpu") == "nccl_form"


def _labelled(original):
    def run(*args, **kwargs):
        with torch._C._profiler._RecordFunctionFast(
                f"understudy:reduce_op={_operator([*args, *kwargs.values()])}"):
            return original(*args, **kwargs)
    return run


def _operator(values):
    """Returns the reduction's name in functional collectives; sum, as in c10d, if none is named."""
    for value in values:
        value = getattr(value, "reduceOp", value)
        if isinstance(value, (torch.distributed.ReduceOp, torch.distributed.ReduceOp.RedOpType)):
            members = torch.distributed.ReduceOp.RedOpType.__members__
            name = next(name.lower() for name, member in members.items() if value == member)
            return f"{name}:{float(value.__getstate__()[1])!r}" if name == "premul_sum" else name
    return "sum"


def _substitute(value):
    return re.sub(r"\bgloo\b", "nccl_form", value) if isinstance(value, str) else value
