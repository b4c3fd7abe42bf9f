"""DistributedDataParallel: torch's own reducer in C++, with what it reads of tensors and clocks.

The reducer makes the buckets and decides when each is summed, so its calls are the real ones. Three things need help: it compares the
parameters of all ranks, reads the order of its buckets out of a tensor on the host, and times itself with events of the device.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.nn.parallel import distributed as ddp

from .values import refuse

aten = torch.ops.aten


def install(mode):
    ddp._verify_param_shape_across_processes = lambda *_, **__: None
    made, rebuild = dist.Reducer.__init__, dist.Reducer._rebuild_buckets

    def init(reducer, params, *args, **kwargs):
        find_unused = kwargs.get("find_unused_parameters", args[5] if len(args) > 5 else False)
        if find_unused:
            refuse("DistributedDataParallel(find_unused_parameters=True) reads which parameters were used out of a tensor",
                   "leave the option out for this capture, if every parameter is used")
        with _without_timer(params):
            made(reducer, params, *args, **kwargs)

    def rebuild_buckets(reducer):
        with _real_indices(mode):
            return rebuild(reducer)

    dist.Reducer.__init__, dist.Reducer._rebuild_buckets = init, rebuild_buckets


class _without_timer:
    """A module on several devices is not timed: while the reducer is made, its first look at a parameter's device shows another one."""

    def __init__(self, params):
        self._params = params

    def __enter__(self):
        self._original = FakeTensor.__torch_dispatch__
        first, original = self._params[-1], self._original
        seen = []

        def dispatch(cls, func, types, args=(), kwargs=None):
            if func is torch.ops.prim.device.default and args[0] is first and first.is_cuda and not seen:
                seen.append(True)
                return torch.device("cuda", (first.fake_device.index + 1) % 8)
            return original(func, types, args, kwargs)

        FakeTensor.__torch_dispatch__ = classmethod(dispatch)

    def __exit__(self, *_):
        FakeTensor.__torch_dispatch__ = self._original


class _real_indices:
    """Integers on the host are real: the reducer writes its buckets' order there and reads what rank 0 sent, which is the same."""

    def __init__(self, mode):
        self._mode = mode

    def __enter__(self):
        handlers = self._mode.handlers

        def empty(func, types, args, kwargs):
            if kwargs.get("dtype") == torch.int32 and kwargs.get("device", torch.device("cpu")).type == "cpu":
                with unset_fake_temporarily():
                    return func(*args, **kwargs)
            return self._mode.dispatch_as_torch(func, types, args, kwargs)

        def copy(func, types, args, kwargs):
            if not isinstance(args[0], FakeTensor):
                return args[0]
            return self._mode.dispatch_as_torch(func, types, args, kwargs)

        self._before = dict(handlers)
        handlers.update({aten.empty: empty, aten.copy_: copy})

    def __exit__(self, *_):
        self._mode.handlers.clear()
        self._mode.handlers.update(self._before)
