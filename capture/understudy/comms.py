"""Records collectives in NCCL's form on machines without a GPU."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import re
import shutil
from pathlib import Path
from unittest import mock

import torch

from . import job, programs
from .endings import USAGE, Refused
from .output import CaptureFailed

REDUCTIONS = ("allreduce", "allreduce_coalesced", "reduce", "reduce_scatter",
              "_reduce_scatter_base", "reduce_scatter_tensor_coalesced")


def use_nccl_form() -> None:
    """From now on, groups with the Gloo backend record their collectives in NCCL's form, and torch's fake groups do.

    Builds capture_backend.cpp on first use (a C++ compiler and ninja are needed) and registers it as backend `nccl_form`.
    init_process_group and new_group use it instead of `gloo`.
    """
    native = _native()
    from torch.distributed import Backend, ProcessGroupGloo

    def create(options, _unused):
        gloo = ProcessGroupGloo(options.store, options.group_rank, options.group_size,
                                timeout=options.timeout)
        return native.create(gloo, options.global_ranks_in_group)

    Backend.register_backend("nccl_form", create, extended_api=True, devices=["cpu"])
    Backend.default_device_backend_map["cpu"] = "nccl_form"
    record_fake_groups()


@functools.cache
def _native():
    source, compiler = Path(__file__).resolve().with_name("capture_backend.cpp"), os.environ.get("CXX", "c++")
    programs.variable("TORCH_EXTENSIONS_DIR")
    if "/" in compiler:
        programs.variable("CXX")
    with mock.patch.dict(os.environ, programs.environment(), clear=True):
        for program, package in (("ninja", "pip install ninja"), (compiler.split()[0], "on Debian g++")):
            if shutil.which(program) is None:
                raise Refused(f"collectives in NCCL's form need {program} on the path, to build {source.name}: install it ({package})", USAGE)
        from torch.utils import cpp_extension

        name = "understudy_nccl_form"
        folder = Path(cpp_extension._get_build_directory(name, verbose=False))
        # torch's own lock is a file that a killed process leaves, and others wait for. The system's lock ends with its process, so that
        # whoever has it finds torch's left over.
        with open(folder / "lock_of_system", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (folder / "lock").unlink(missing_ok=True)
            return cpp_extension.load(name, [str(source)], extra_cflags=["-O1", "-std=c++20", "-DUSE_DISTRIBUTED"])


@functools.cache
def record_fake_groups():
    """From now on, groups of torch's backend `fake`, whose other ranks are not there, record their collectives in NCCL's form. The first
    such group builds what records them."""
    if not torch.distributed.is_available():
        return
    from torch.distributed import distributed_c10d
    helper = distributed_c10d._new_process_group_helper

    @functools.wraps(helper)
    def make(group_size, group_rank, global_ranks, backend, *rest, **options):
        if "fake" in str(backend):
            _wrap_fake_backend()
        if _is_nccl_form() and backend:
            backend = re.sub(r"\bgloo\b", "nccl_form", str(backend))
        return helper(group_size, group_rank, global_ranks, backend, *rest, **options)

    distributed_c10d._new_process_group_helper = make
    list_groups_of_others(job.is_alone)


@functools.cache
def _wrap_fake_backend():
    plugins, native = torch.distributed.Backend._plugins, _native()
    from torch.testing._internal.distributed import fake_pg  # noqa: F401: registers it
    creator = plugins["FAKE"].creator_fn
    plugins["FAKE"] = plugins["FAKE"]._replace(creator_fn=lambda common, own: native.create(creator(common, own), common.global_ranks_in_group))


def check_recorded():
    """Refuses fake groups that were made too early to be recorded."""
    if job.is_fake() and torch.distributed.group.WORLD._get_backend(torch.device("cpu")).name() == "fake":
        raise CaptureFailed("torch's fake process group was made before the capture could record it: call understudy.use_nccl_form() "
                            "before init_process_group()")


def list_groups_of_others(is_wanted):
    """From now on, c10d's list of groups has those of other ranks alone, too: all ranks call new_group() for every group."""
    from torch.distributed import distributed_c10d
    helper, own, others = distributed_c10d._new_process_group_helper, type(distributed_c10d._world).pg_config_info, []

    @functools.wraps(helper)
    def make(group_size, group_rank, global_ranks, backend, store, group_name, **options):
        made = helper(group_size, group_rank, global_ranks, backend, store, group_name, **options)
        if not isinstance(made[0], torch.distributed.ProcessGroup) and is_wanted():
            first = own.fget(distributed_c10d._world)[0]
            others.append({**first, "pg_name": group_name, "pg_desc": options.get("group_desc") or "undefined",
                           "ranks": list(global_ranks), "group_size": len(global_ranks)})
        return made

    type(distributed_c10d._world).pg_config_info = property(lambda world: own.fget(world) + others)
    distributed_c10d._new_process_group_helper = make


@contextlib.contextmanager
def reduce_op_labels():
    """While entered, reductions that Python calls have a label with their operator, which torch records in NCCL's form alone."""
    with contextlib.ExitStack() as originals:
        for name in REDUCTIONS if job.is_distributed() and not job.is_fake() and not _is_nccl_form() else ():
            owner = torch.distributed.ProcessGroup
            originals.callback(setattr, owner, name, vars(owner)[name])  # what getattr() gives is no method, since torch 2.15
            setattr(owner, name, _labelled(getattr(owner, name)))
        yield


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
