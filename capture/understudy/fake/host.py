"""Parts of torch that need contents, a driver or other processes: loaders, files, scalers, compilers."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.utils import _pytree as pytree

from .memory import keep_whole_losses
from .mode import record
from .values import refuse, skip

TORCH = str(Path(torch.__file__).parent)
EAGER = "capture the eager step: leave it out for this capture"


def install(mode):
    _load_here(mode)
    _scale_as_without_overflow()
    _choose_foreach()
    _label_without_dispatch()
    torch.compile = torch.nn.Module.compile = _compile
    torch.save = lambda *_, **__: skip("torch.save")  # it would write tensors without contents over a checkpoint
    _refuse_triton()
    _follow_storages(mode.memory)
    keep_whole_losses(mode)
    _copy_and_move()
    _hide_class()


def _compile(model=None, *, backend=None, **_):
    """The backend "eager" runs the operators as they are; FlexAttention uses it where the script compiles nothing."""
    if getattr(backend, "__name__", backend) != "eager":
        refuse("torch.compile needs the device to compile for", EAGER)
    return model or (lambda model: model)


def _hide_class():
    """Libraries that ask whether a tensor is fake, as transformers does before it leaves a mask out, are told that none is."""
    of_torch, seen = torch._subclasses, type("FakeTensor", (torch.Tensor,), {})
    del of_torch.FakeTensor

    def find(name):
        if name == "FakeTensor":
            return FakeTensor if sys._getframe(1).f_code.co_filename.startswith(TORCH) else seen
        raise AttributeError(f"module {of_torch.__name__!r} has no attribute {name!r}")

    of_torch.__getattr__ = find


def _follow_storages(memory):
    """FSDP gives the memory of a storage back and takes it again, and compares addresses."""
    resize, address = torch.UntypedStorage.resize_, torch.UntypedStorage.data_ptr

    def resize_(storage, size):
        if storage.device.type == "meta":
            memory.resize(storage, size)
        return resize(storage, size)

    torch.UntypedStorage.resize_ = resize_
    torch.UntypedStorage.data_ptr = lambda storage: memory.address(storage) if storage.device.type == "meta" else address(storage)
    of_tensor = torch.Tensor.data_ptr

    def data_ptr(tensor):
        if isinstance(tensor, FakeTensor) and sys._getframe(1).f_code.co_filename.startswith(TORCH):
            return 0  # as its copies of fake tensors expect
        return of_tensor(tensor)

    torch.Tensor.data_ptr = data_ptr


def _copy_and_move():
    """`tensor.data = other` moves a tensor to the other's device; a copy is a clone."""
    original = torch._C.TensorBase.data

    def assign(tensor, other):
        original.__set__(tensor, other)
        tensor.fake_device = other.fake_device

    FakeTensor.data = property(original.__get__, assign)


def _load_here(mode):
    """Loaders work on the host with real contents, in this process: samplers need numbers, datasets files. What workers would do is not
    recorded, as it is not of this process."""
    from torch.utils.data import DataLoader, dataloader
    originals = DataLoader.__init__, DataLoader.__iter__, dataloader._BaseDataLoaderIter.__next__

    def init(loader, *args, **kwargs):
        bound = inspect.signature(originals[0]).bind(loader, *args, **kwargs)
        loader.had_workers = bool(bound.arguments.get("num_workers"))
        bound.arguments.update(num_workers=0, pin_memory=False, prefetch_factor=None, persistent_workers=False, timeout=0,
                               multiprocessing_context=None)
        with unset_fake_temporarily():
            originals[0](*bound.args, **bound.kwargs)

    def iterate(loader):
        with unset_fake_temporarily():
            iterator = originals[1](loader)
        iterator.had_workers = loader.had_workers
        return iterator

    def following(iterator):
        record(not iterator.had_workers)
        try:
            with unset_fake_temporarily():
                batch = originals[2](iterator)
        finally:
            record(True)
        return pytree.tree_map_only(torch.Tensor, lambda each: each if isinstance(each, FakeTensor) else mode.from_tensor(each), batch)

    DataLoader.__init__, DataLoader.__iter__, dataloader._BaseDataLoaderIter.__next__ = init, iterate, following


def _scale_as_without_overflow():
    """GradScaler reads whether a gradient overflowed; none does."""
    from torch.amp import GradScaler

    def maybe_step(scaler, optimizer, state, *args, **kwargs):
        for found in state["found_inf_per_device"].values():
            found.item()
        return optimizer.step(*args, **kwargs)

    GradScaler._maybe_opt_step = maybe_step


def _choose_foreach():
    """Optimizers, and the clipping of gradients, choose their fused forms by the tensors' class."""
    from torch.optim import optimizer
    from torch.utils import _foreach_utils
    optimizer._foreach_supported_types.append(FakeTensor)
    _foreach_utils._foreach_supported_types.append(FakeTensor)


def _label_without_dispatch():
    """A label begins and ends with an operator, which the mode would answer: the label would hang below the mode's work."""
    from torch.autograd.profiler import record_function

    def enter(label):
        label.fast = torch._C._profiler._RecordFunctionFast(label.name)
        label.fast.__enter__()
        return label

    def leave(label, *_):
        label.fast.__exit__(None, None, None)

    record_function.__enter__, record_function.__exit__ = enter, leave


def _refuse_triton():
    try:
        from triton.runtime.jit import JITFunction
    except ImportError:
        return
    JITFunction.run = lambda kernel, *_, **__: refuse(
        f"the Triton kernel {getattr(kernel, '__name__', 'of the script')} needs a device", "take torch's own operators for this capture")
