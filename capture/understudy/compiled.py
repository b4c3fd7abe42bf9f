"""Labels the kernels that torch.compile runs, and keeps the data to launch Triton's kernels again.

A compiled graph calls fused kernels that no operator shows: a CPU's C++ kernels leave no mark in a trace or a profile. kernel_labels() gives
each call a label with its tensors, as inductor does for Triton's kernels. triton_kernels.py labels and keeps the launches of Triton's
kernels; describe_kernels() describes these (docs/formats.md, rank-R.compiled.json).
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
import sys
from pathlib import Path

import torch

from .triton_kernels import LAUNCHES, TritonLabels, passed_by

FORMAT = "understudy-compiled"
VERSION = 1
BACKEND = "cpp"  # attribute kernel_backend of a label's node; Triton's kernels have "triton"
REGION = "Torch-Compiled Region"
# In a graph's generated source: `name = async_compile.cpp_pybinding(['const float*', …], r'''code''')`.
CPP_KERNEL = re.compile(
    r"^(?P<name>\w+) = async_compile\.cpp_pybinding\(\[(?P<types>[^\]]*)\], r?'''(?P<code>.*?)'''",
    re.DOTALL | re.MULTILINE)
IN_OUT = re.compile(r"\bin_out\w*\s*$")  # the end of a parameter that is read and written
KERNEL_PARAMETERS = re.compile(r'extern "C".*?\bkernel\((?P<parameters>.*?)\)', re.DOTALL)


def graph_modules():
    """Returns the modules that inductor generated and loaded, without duplicates; none if it never ran."""
    codecache = sys.modules.get("torch._inductor.codecache")
    cache = getattr(codecache, "PyCodeCache", None)
    found = {}
    for module in getattr(cache, "modules", ()):
        if callable(getattr(module, "call", None)):
            found.setdefault(id(module), module)
    return list(found.values())


def argument_roles(types, code):
    """Returns the role of each argument: r for a tensor that is read, w written, rw both, - for a number."""
    match = KERNEL_PARAMETERS.search(code)
    parameters = match["parameters"].split(",") if match else []
    roles = []
    for kind, parameter in itertools.zip_longest(types, parameters[:len(types)], fillvalue=""):
        if not kind.rstrip().endswith("*"):
            roles.append("-")
        elif kind.startswith("const "):
            roles.append("r")
        else:
            roles.append("rw" if IN_OUT.search(parameter) else "w")
    return roles


@functools.lru_cache(maxsize=None)
def cpp_kernels(path):
    """Returns name → roles of the arguments, for the C++ kernels that a generated file calls."""
    try:
        source = Path(path).read_text(encoding="utf-8")
    except OSError:
        return {}
    kernels = {}
    for match in CPP_KERNEL.finditer(source):
        types = re.findall(r"'([^']*)'", match["types"])
        kernels[match["name"]] = argument_roles(types, match["code"])
    return kernels


@contextlib.contextmanager
def kernel_labels(on_call=passed_by, describes=False):
    """While entered, calls of C++ kernels and launches of Triton's are labels with their tensors.

    A label's inputs are the kernel's arguments, then their roles and the generated file's name, or the launch. A call costs an event, and
    nothing afterwards. `on_call` gets each call's arguments. `describes`: also keeps the data to launch Triton's kernels again.
    """
    with TritonLabels(on_call, describes), contextlib.ExitStack() as originals:
        for module in graph_modules():
            for name, roles in cpp_kernels(module.__file__).items():
                function = getattr(module, name, None)
                if callable(function) and not hasattr(function, "understudy_kernel"):
                    originals.callback(setattr, module, name, function)
                    setattr(module, name, _labelled(function, name, roles, Path(module.__file__).name, on_call))
        yield


def _labelled(function, name, roles, file, on_call):
    facts = (" ".join(roles), file)
    record = torch._C._profiler._RecordFunctionFast

    def run(*args):
        on_call(args)
        with record(name, (*args, *facts), {"kernel_backend": BACKEND}):
            return function(*args)

    run.understudy_kernel = True
    return run


def describe_kernels(rank):
    """Returns the data to launch Triton's kernels again; None if the traced step launched none."""
    if not LAUNCHES.kernels and not LAUNCHES.left_out:
        return None
    return {"format": FORMAT, "version": VERSION, "rank": rank, "torch": torch.__version__, **LAUNCHES.document()}
