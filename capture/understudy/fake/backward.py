"""Lets autograd run on fake CUDA tensors in a process without a driver.

Before a backward pass autograd's engine asks the hooks of CUDA whether device 0 has a context. Without a driver the answer is an error.
The hooks are an object with a table of virtual functions; the table's entry for that question is replaced by one that says no. Nothing is
compiled: the entry's place follows from the order of declarations in the header that every torch ships, and `no` is the base class's own
isBuilt(). A trial shows whether it worked.
"""

import ctypes
import mmap
import re
from pathlib import Path

import torch

from ..endings import USAGE, Refused

GET_HOOKS = "_ZN2at6detail12getCUDAHooksEv"  # at::detail::getCUDAHooks()
BASE_TABLE = "_ZTVN2at18CUDAHooksInterfaceE"  # table of at::CUDAHooksInterface
HEADER = "include/ATen/detail/AcceleratorHooksInterface.h"
QUESTION, NO = "hasPrimaryContext", "isBuilt"
POINTER, PAGE = ctypes.sizeof(ctypes.c_void_p), mmap.PAGESIZE
READ, WRITE = 1, 2
BEFORE_FUNCTIONS = 2 * POINTER  # offset to the object's top, and its type


def _slots():
    """Returns the number of each virtual function in the table; the destructor, which is declared first, has two."""
    text = (Path(torch.__file__).parent / HEADER).read_text()
    names = re.findall(r"virtual\s[^;{]*?(~?\w+)\(", text)
    return {name: number + 1 for number, name in enumerate(names)}


def _replace_entry():
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    get_hooks = library[GET_HOOKS]
    get_hooks.restype = ctypes.c_void_p
    slots = _slots()
    table = ctypes.c_void_p.from_address(get_hooks()).value
    entry = table + POINTER * slots[QUESTION]
    base = ctypes.addressof(ctypes.c_char.in_dll(library, BASE_TABLE)) + BEFORE_FUNCTIONS
    libc = ctypes.CDLL(None, use_errno=True)
    page = entry & ~(PAGE - 1)
    if libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(2 * PAGE), READ | WRITE) != 0:
        raise OSError(ctypes.get_errno(), "mprotect of the table failed")
    ctypes.c_void_p.from_address(entry).value = ctypes.c_void_p.from_address(base + POINTER * slots[NO]).value
    libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(2 * PAGE), READ)


def allow_without_driver(mode):
    """Must be called with `mode` (a FakeTensorMode) entered, before the process's first backward pass: that starts autograd's threads, one
    for each device it knows."""
    try:
        if not torch.backends.cuda.is_built():
            raise RuntimeError("it is built for CPUs alone")
        _replace_entry()
        weight = torch.empty(1, device="cuda", requires_grad=True)
        (weight * 2).sum().backward()
    except (OSError, AttributeError, KeyError, ValueError, RuntimeError) as problem:
        raise Refused(f"torch {torch.__version__} of this process does not run a backward pass on CUDA tensors without a driver "
                      f"({problem}); use a CUDA build of torch 2.9 to 2.15 on Linux x86_64, or --as cpu", USAGE) from problem
