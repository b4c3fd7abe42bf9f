"""Finds tensors that a step does not use: the program holds them, but no operator accesses them.

A trace cannot show them, since no node has them as arguments: batches of other steps, a second model, tensors kept for an evaluation. They
still occupy memory.
"""

from __future__ import annotations

import gc
import weakref

import torch
from torch._subclasses.fake_tensor import FakeTensor


PARTS = {torch.strided: lambda tensor: (tensor,), torch.sparse_coo: lambda tensor: (tensor._indices(), tensor._values())}
PARTS |= dict.fromkeys((torch.sparse_csr, torch.sparse_bsr), lambda tensor: (tensor.crow_indices(), tensor.col_indices(), tensor.values()))
PARTS |= dict.fromkeys((torch.sparse_csc, torch.sparse_bsc), lambda tensor: (tensor.ccol_indices(), tensor.row_indices(), tensor.values()))


class LiveTensors:
    """The tensors that Python holds now. Must be created at the end of the step."""

    def __init__(self):
        self._tensors = [(weakref.ref(tensor), blocks_of(tensor)) for tensor in _live_tensors()]

    def untouched_bytes(self, touched):
        """Returns device → bytes of the tensors that still exist and have no address in `touched`."""
        untouched = {}
        for tensor, blocks in self._tensors:
            if tensor() is not None and blocks_of(tensor()) == blocks:
                untouched.update({block: True for block in blocks if block[1] not in touched})
        devices = {}
        for device, _, size in untouched:
            devices[device] = devices.get(device, 0) + size
        return dict(sorted(devices.items()))


def blocks_of(tensor):
    """Returns (device, address, bytes) of a tensor's memory; for a sparse tensor that of its parts."""
    if isinstance(tensor, FakeTensor):
        return []  # it names a device but has no memory there
    parts = PARTS.get(tensor.layout, lambda opaque: ())(tensor)  # an opaque tensor has no address
    try:
        memory = [(str(part.device), part.untyped_storage()) for part in parts]
        return [(device, storage.data_ptr(), storage.nbytes())
                for device, storage in memory if device != "meta" and storage.nbytes() > 0]
    except (RuntimeError, NotImplementedError):
        return []  # a wrapper: its inner tensor is listed separately


def _live_tensors():
    with torch.no_grad():
        for thing in gc.get_objects():
            if issubclass(type(thing), torch.Tensor):
                yield thing
                if thing.is_leaf and thing.grad is not None:
                    yield thing.grad
