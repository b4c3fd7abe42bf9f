"""Addresses and lifetimes of memory that does not exist.

A fake tensor's storage has no address, so a trace could not tell views and updates in place from other tensors. Each storage gets an
address of its own, which is never used again, and its end is noticed. Sizes are rounded as CUDA's caching allocator rounds them.
"""

import ctypes
import weakref

import torch
from torch._subclasses.fake_tensor import FakeTensor

FIRST_ADDRESS = 1 << 47  # beyond what a process of Linux can have
ROUNDING_BYTES = 512  # of CUDA's caching allocator (c10/cuda/CUDACachingAllocator.cpp, kMinBlockSize)
ALIGNMENT_BYTES = 64  # of torch's allocator on a CPU
SEARCHED_BYTES = 128  # of a storage's object
# Losses whose kernels put those of all elements where their mean then comes to lie: it keeps the memory of all.
MEANS_IN_PLACE = (torch.ops.aten.mse_loss, torch.ops.aten.smooth_l1_loss)


def _address_offset():
    """Returns where a storage's object has its address, found with a storage of a known address."""
    known = 0x5EED5EED5EED0
    storage = torch._C._construct_storage_from_data_pointer(known, torch.device("meta"), 1)
    for offset in range(0, SEARCHED_BYTES, 8):
        if ctypes.c_uint64.from_address(storage._cdata + offset).value == known:
            return offset
    raise RuntimeError(f"torch {torch.__version__}: the address of a storage was not found in its object")


class Memory:
    """Allocated bytes of each device, by storages' lifetimes."""

    def __init__(self):
        self._offset = _address_offset()
        self._next = FIRST_ADDRESS
        self._sizes = {}  # address → (device, bytes) of what is allocated
        self._types = {}  # address → type of the tensor that was placed there
        self._taken = {}  # address → (first address, tensor) of a storage whose memory was given back and taken again
        self.contents = {}  # address → storage on the host, if they are known
        self.allocated = {}  # device → bytes
        self.peak = {}
        self.allocations = 0

    def place(self, tensor, device):
        """Gives the storage of a fake tensor an address, if it has none, which only traces may read."""
        storage = tensor.untyped_storage()
        field = ctypes.c_uint64.from_address(storage._cdata + self._offset)
        if field.value == 0 and storage.nbytes() > 0:
            if device.type == "cuda" and 0 < torch.cuda.device_count() <= device.index:
                torch.cuda.set_device(device)  # says which there are
            field.value = self._next
            self._next += -(-storage.nbytes() // ROUNDING_BYTES) * ROUNDING_BYTES
            self.allocate(field.value, device, storage.nbytes())
            self._types[field.value] = tensor.dtype
            weakref.finalize(storage, self.free, field.value).atexit = False
            torch._C._set_throw_on_mutable_data_ptr(tensor)

    def address(self, storage):
        return ctypes.c_uint64.from_address(storage._cdata + self._offset).value

    def allocate(self, address, device, size):
        unit = ALIGNMENT_BYTES if device.type == "cpu" else ROUNDING_BYTES
        self._sizes.setdefault(address, (device, 0))
        self._change(address, -(-size // unit) * unit)
        self.allocations += 1

    def free(self, address):
        self._change(address, 0)
        self._sizes.pop(address, None)
        self._types.pop(address, None)
        self.contents.pop(address, None)

    def resize(self, storage, size):
        """Follows a storage whose memory is given back (0 bytes), or taken again: the step then makes it, as an operator does, elsewhere."""
        address = self.address(storage)
        self.contents.pop(address, None)
        device, before = self._sizes.get(address, (None, 0))
        if size == 0 and address in self._taken:
            self._move(storage, self._taken.pop(address)[0])
        elif device is not None and (size == 0 or before > 0):
            self.allocate(address, device, size)
        elif device is not None:
            kind = self._types[address]
            made = torch.empty(size // kind.itemsize, dtype=kind, device=device)
            taken = self.address(made.untyped_storage())
            self._taken[taken] = address, made
            weakref.finalize(storage, self._taken.pop, taken, None).atexit = False
            self._move(storage, taken)

    def _move(self, storage, address):
        ctypes.c_uint64.from_address(storage._cdata + self._offset).value = address

    def _change(self, address, size):
        device, before = self._sizes.get(address, (None, 0))
        if device is not None:
            self._sizes[address] = (device, size)
            total = self.allocated[device] = self.allocated.get(device, 0) + size - before
            self.peak[device] = max(self.peak.get(device, 0), total)

    def reset_peak(self):
        self.peak = dict(self.allocated)


def keep_whole_losses(mode):
    def loss(func, types, args, kwargs):
        mean = mode.dispatch_as_torch(func, types, args, kwargs)
        if isinstance(mean, FakeTensor) and mean.dim() == 0:
            elements = torch.broadcast_shapes(args[0].shape, args[1].shape).numel()
            mean.untyped_storage().resize_(elements * mean.element_size())
        return mean

    mode.handlers.update(dict.fromkeys(MEANS_IN_PLACE, loss))
