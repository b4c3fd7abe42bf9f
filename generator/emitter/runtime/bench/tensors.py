"""Makes tensors, fills them by their rules, and restores their first content."""

import importlib

import torch

from .values import fill
from .zeros import Zeros

_device = torch.device("cpu")
PACKAGES = {"hpu": "habana_frameworks.torch"}  # that bring a type of device to PyTorch; of others: torch_npu, …


def choose_device(name, local_rank):
    """Selects a device by its name. A name without an index selects this rank's device of that type."""
    global _device
    kind = name.partition(":")[0]
    if kind != "meta" and not hasattr(torch, kind):  # a vendor's package brings it
        importlib.import_module(PACKAGES.get(kind, f"torch_{kind}"))
    _device = torch.device(name)
    if _device.index is None and hasattr(device_module(), "set_device"):
        device_module().set_device(local_rank)
    torch.empty(1, device=_device)  # fails if the device does not exist


def device_module():
    """Returns torch.cuda, torch.xpu, torch.hpu, …; None if the device type has no module."""
    return getattr(torch, _device.type, None)


def synchronize():
    if hasattr(device_module(), "synchronize"):
        device_module().synchronize()


def device():
    """Returns the device of tensors that the original had on its accelerator, or of all tensors if it had none."""
    return _device


def relayout(base, dtype, sizes, strides, shift_bytes):
    """Returns another layout of a tensor's memory, which the original made outside of any operator. `shift_bytes`: from its first
    element to that of the layout."""
    first = base.storage_offset() * base.element_size() + shift_bytes
    return on_storage(base, dtype, sizes, strides, first // dtype.itemsize)


def on_storage(base, dtype, sizes, strides, offset):
    return torch.empty(0, dtype=dtype, device=base.device).set_(base.untyped_storage(), offset, sizes, strides)


def another(tensor):
    """Returns a tensor of the same memory and layout. Changing one's layout in place does not change the other's."""
    return on_storage(tensor, tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset())


def contiguous_strides(sizes):
    strides = [1] * len(sizes)
    for dim in range(len(sizes) - 1, 0, -1):
        strides[dim - 1] = strides[dim] * max(sizes[dim], 1)
    return strides


def is_flat(tensor):
    """Returns True if at most one dimension has more than one element."""
    return sum(size > 1 for size in tensor.shape) < 2


class Maker:
    """Makes tensors and fills them by their rules."""

    def __init__(self, seed=0):
        self.seed, self.made, self.changed, self.copies, self.varying, self.with_zeros = seed, [], [], [], [], []

    def tensor(self, id, dtype, sizes, rule=None, strides=None, offset=0, place=None, size_bytes=0):
        strides = strides or contiguous_strides(sizes)
        if not offset and not size_bytes:
            return self.add(id, torch.empty_strided(sizes, strides, dtype=dtype, device=place or device()), rule)
        extent = 0 if 0 in sizes else 1 + sum((n - 1) * s for n, s in zip(sizes, strides))
        item = torch.empty(0, dtype=dtype).element_size()
        memory = torch.empty(max(size_bytes, (offset + extent) * item if extent else 0), dtype=torch.uint8,
                             device=place or device())
        return self.add(id, on_storage(memory, dtype, sizes, strides, offset), rule)

    def view(self, id, of, dtype, sizes, rule=None, strides=None, offset=0):
        return self.add(id, on_storage(of, dtype, sizes, strides or contiguous_strides(sizes), offset), rule)

    def number(self, id, dtype, rule):
        """Returns a Python number that the original passed as one."""
        made = torch.empty((), dtype=dtype)
        fill(made, rule, self.seed, id)
        return made.item()

    def add(self, id, tensor, rule):
        self.made.append((id, tensor, rule))
        return tensor

    def changes(self, tensors):
        self.changed = tensors

    def varies(self, tensors):
        self.varying = tensors

    def had_zeros(self, tensors):
        """Sets, for tensors that change, the share of elements that were zero in the original."""
        self.with_zeros = [Zeros(tensor, share) for tensor, share in tensors]

    def fill_all(self, variant=0, only=None):
        # All tensors of the storage: parts with a rule of their own begin at other addresses.
        wanted = [m for m in self.made if only is None
                  or m[1].untyped_storage().data_ptr() == only.untyped_storage().data_ptr()]
        # If several layouts share memory, those with a rule are written last. Among the others the first that is not flat decides.
        for flat in (True, False):
            for id, tensor, rule in reversed(wanted):
                if rule is None and is_flat(tensor) == flat:
                    fill(tensor, rule, self.seed + variant, id)
        for id, tensor, rule in wanted:
            if rule is not None:
                fill(tensor, rule, self.seed + variant, id)

    def bytes_of(self, tensor):
        return on_storage(tensor, torch.uint8, [tensor.untyped_storage().nbytes()], [1], 0)

    def copy_changed(self):
        self.copies = [self.bytes_of(t).clone() for t in self.changed]

    def remember(self):
        self.copy_changed()
        self.variants = []
        for tensor in self.varying:
            contents = []
            for variant in range(4):
                self.fill_all(variant, tensor)
                contents.append(self.bytes_of(tensor).clone())
            self.fill_all(0, tensor)
            self.variants.append(contents)

    def restore(self):
        for tensor, copy in zip(self.changed, self.copies):
            self.bytes_of(tensor).copy_(copy)

    def clear_zeros(self):
        """Clears the tensors before some iterations that show where the step writes."""
        for zeros in self.with_zeros:
            zeros.clear()

    def settle_zeros(self):
        """After these iterations: restores the first content, with zeros where nothing was written."""
        for zeros in self.with_zeros:
            zeros.find()
        self.restore()
        for zeros in self.with_zeros:
            zeros.apply()
        self.copy_changed()

    def vary(self, iteration):
        for tensor, contents in zip(self.varying, self.variants):
            self.bytes_of(tensor).copy_(contents[iteration % 4])


MAKER = Maker()  # of the step's tensors
