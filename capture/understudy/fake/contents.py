"""Contents that follow from the script's own numbers: torch.arange(), torch.ones(), what is computed of them, a count of steps.

The script may read them: a library asks whether a mask masks anything. They are kept on the host by storage, so that views share them, and
are forgotten once something that is not known is written there.
"""

import functools

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.utils import _pytree as pytree

MOST_NUMBERS = 1 << 20  # of one tensor: larger ones are not computed
# Operators whose result does not depend on the contents of the first argument; the first three write it.
OVERWRITES = ("fill_", "zero_", "copy_")
OF_ITS_SIZE = ("zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full")
UNKNOWN_TAGS = (torch.Tag.nondeterministic_seeded, torch.Tag.inplace_view)


@functools.cache
def _written(func):
    """Returns (place, name) of the arguments that an operator writes."""
    return [(place, each.name) for place, each in enumerate(func._schema.arguments) if each.alias_info and each.alias_info.is_write]


class Contents:
    def __init__(self, memory):
        self._memory = memory

    def _address(self, tensor):
        is_followed = isinstance(tensor, FakeTensor) and tensor.layout == torch.strided and not tensor.is_complex()
        return self._memory.address(tensor.untyped_storage()) if is_followed else None

    def holds(self, tensor):
        return tensor.numel() <= MOST_NUMBERS and self._address(tensor) in self._memory.contents

    def of(self, tensor):
        """Returns a real tensor, or None if the contents are not known. What it calls is recorded, but below the mode's work."""
        if not isinstance(tensor, FakeTensor):
            return tensor
        if not self.holds(tensor):
            return None
        with unset_fake_temporarily():
            return torch.empty(0, dtype=tensor.dtype, device="cpu").set_(self._memory.contents[self._address(tensor)], tensor.storage_offset(),
                                                           tensor.shape, tensor.stride())

    def forget(self, tensors):
        for tensor in pytree.tree_leaves(tensors):
            self._memory.contents.pop(self._address(tensor), None)

    def follow(self, func, args, kwargs, result):
        """Must be called after an operator, without the mode."""
        name = func.overloadpacket.__name__
        is_whole = name in OVERWRITES and args[0].numel() * args[0].element_size() == args[0].untyped_storage().nbytes()
        if is_whole:
            self.forget(args[0])
        if (is_whole or name in OF_ITS_SIZE) and args[0].numel() <= MOST_NUMBERS:
            args = (torch.empty(args[0].shape, dtype=args[0].dtype, device="cpu"), *args[1:])
        try:
            made = self._compute(func, args, kwargs, result)
        except Exception:  # not all are known, or the host has no such operator
            self.forget([args[place] if place < len(args) else kwargs.get(name) for place, name in _written(func)])
        else:
            for fake, real in zip(pytree.tree_leaves(result), pytree.tree_leaves(made)):
                self._keep(fake, real)

    def _compute(self, func, args, kwargs, result):
        def known(value):
            if isinstance(value, torch.device):
                return torch.device("cpu")
            contents = self.of(value)
            if contents is None and value is not None:
                raise LookupError
            return contents

        sizes = [each.numel() for each in pytree.tree_leaves(result) if isinstance(each, torch.Tensor)]
        if func.namespace != "aten" or "empty" in func.__name__ or max(sizes, default=0) > MOST_NUMBERS or {*UNKNOWN_TAGS} & {*func.tags}:
            raise LookupError
        args, kwargs = pytree.tree_map(known, (args, kwargs))
        return func(*args, **kwargs)

    def assume(self, fake, value):
        if fake.numel() <= MOST_NUMBERS:
            self._keep(fake, torch.full(fake.shape, value, dtype=fake.dtype, device="cpu"))

    def _keep(self, fake, real):
        """A result in a storage of its own is copied to one that is laid out as the fake one's."""
        address = self._address(fake)
        if address and address not in self._memory.contents:
            self._memory.contents[address] = torch.empty(fake.untyped_storage().nbytes(), dtype=torch.uint8, device="cpu").untyped_storage()
            self.of(fake).copy_(real)
