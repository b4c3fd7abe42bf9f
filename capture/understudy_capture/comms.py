"""Collectives that are recorded in the form of NCCL, on machines without a GPU."""

from __future__ import annotations

import re
from pathlib import Path

import torch


def use_nccl_form():
    """From here on, groups that ask for Gloo record their collectives in the form of NCCL.

    Builds capture_backend.cpp on first use (a C++ compiler and ninja are needed) and
    registers it as backend `nccl_form`; init_process_group and new_group take it for `gloo`.
    """
    from torch.distributed import Backend, ProcessGroupGloo, distributed_c10d
    from torch.utils import cpp_extension

    source = Path(__file__).resolve().with_name("capture_backend.cpp")
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


def _substitute(value):
    return re.sub(r"\bgloo\b", "nccl_form", value) if isinstance(value, str) else value
