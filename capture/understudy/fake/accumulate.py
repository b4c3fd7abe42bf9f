"""What autograd does in place with real tensors: gradients that meet are added where nothing else holds the first, and that of an index is
put into zeros.

For fake tensors it always makes a new one, since it takes them for a class with rules of its own. Who holds the first is seen in its counts
of references: they are compared with those of a sum that is known to be in place.
"""

import sys

import torch
from torch._subclasses.fake_tensor import FakeTensor

ADD, ADD_IN_PLACE = torch.ops.aten.add.Tensor, torch.ops.aten.add_.Tensor
PUT_IN_PLACE = torch.ops.aten._index_put_impl_.default
IN_PLACE = {"aten::add": ADD_IN_PLACE, "aten::index_put": PUT_IN_PLACE}  # by the name that is recorded


def _counts(tensor):
    return tensor._use_count(), torch._C._storage_Use_Count(tensor.untyped_storage()._cdata), sys.getrefcount(tensor)


def _is_in_backward():
    return torch._C._current_graph_task_id() != -1 and not torch.is_grad_enabled()


def install(mode):
    unshared = []

    def add(func, types, args, kwargs):
        if (func is ADD and not kwargs and _is_in_backward()
                and all(isinstance(each, FakeTensor) and each.layout == torch.strided for each in args)):
            first, second = args
            counts = _counts(first)
            if not unshared:
                unshared.append(counts)
            elif (counts == unshared[0] and first.shape == second.shape and first.dtype == second.dtype and first.device == second.device
                    and torch._prims_common.is_non_overlapping_and_dense_or_false(first)):
                func = ADD_IN_PLACE
        return mode.dispatch_as_torch(func, types, args, kwargs)

    def index_put(func, types, args, kwargs):
        if not kwargs and len(args) == 4 and _is_in_backward():
            func, args = PUT_IN_PLACE, (*args, True)
        return mode.dispatch_as_torch(func, types, args, kwargs)

    mode.handlers.update({torch.ops.aten.add: add, torch.ops.aten.index_put: index_put})
    known = torch.ones(2, requires_grad=True, device="cpu").exp()
    (known.sin() + known.cos()).sum().backward()
