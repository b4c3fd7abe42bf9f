"""DistributedDataParallel: torch's own reducer in C++, with what it reads of tensors and clocks.

The reducer makes the buckets and decides when each is summed, so its calls are the real ones. Three things need help: it compares the
parameters of all ranks, reads the order of its buckets out of a tensor on the host, and times itself with events of the device.
"""

from __future__ import annotations

from unittest import mock

import torch
import torch.distributed as dist
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.nn.parallel import distributed as ddp

from .cuda import DEVICES
from .values import refuse

aten = torch.ops.aten


def install(mode, note):
    """Calls note() for each reducer that is made."""
    ddp._verify_param_shape_across_processes = lambda *_, **__: None
    made, rebuild = dist.Reducer.__init__, dist.Reducer._rebuild_buckets

    def init(reducer, params, *args, **kwargs):
        if params[0].is_cuda and kwargs.get("find_unused_parameters", args[5] if len(args) > 5 else False):
            refuse("DistributedDataParallel(find_unused_parameters=True) reads on the host which parameters were used",
                   "leave the option out for this capture, if every parameter is used")
        note()
        with _without_timer(mode, params):
            made(reducer, params, *args, **kwargs)

    def rebuild_buckets(reducer):
        with _real_indices(mode):
            return rebuild(reducer)

    dist.Reducer.__init__, dist.Reducer._rebuild_buckets = init, rebuild_buckets


def _answering(mode, answers):
    """`answers`: operator → function(func, args, kwargs), which may return NotImplemented."""
    def asked(answer):
        def handle(func, types, args, kwargs):
            result = answer(func, args, kwargs)
            return mode.dispatch_as_torch(func, types, args, kwargs) if result is NotImplemented else result
        return handle

    return mock.patch.dict(mode.handlers, {operator: asked(answer) for operator, answer in answers.items()})


def _without_timer(mode, params):
    """A module on several devices is not timed: while the reducer is made, the first look at a parameter's device shows another one."""
    seen = []

    def device(func, args, kwargs):
        if args[0] is not params[-1] or seen or args[0].fake_device.type != "cuda":
            return NotImplemented
        seen.append(True)
        return torch.device("cuda", (args[0].fake_device.index + 1) % DEVICES)

    return _answering(mode, {torch.ops.prim.device: device})


def _real_indices(mode):
    """Integers on the host are real: the reducer writes its buckets' order there and reads what rank 0 sent, which is the same."""
    def empty(func, args, kwargs):
        if kwargs.get("dtype") != torch.int32 or kwargs.get("device", torch.device("cpu")).type != "cpu":
            return NotImplemented
        with unset_fake_temporarily():
            return func(*args, **kwargs)

    return _answering(mode, {aten.empty: empty, aten.copy_: lambda func, args, kwargs: (
        NotImplemented if isinstance(args[0], FakeTensor) else args[0])})
