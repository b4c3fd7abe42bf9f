"""The mode under which a script runs: torch's FakeTensorMode, which goes on seeing no device."""

import contextlib
import functools

import torch
from torch._subclasses import fake_tensor
from torch.nested._internal.nested_int import NestedIntNode

from .. import meta_rules
from . import backward
from .contents import Contents
from .memory import Memory
from .trace import NATIVE, SUBCLASS

TORCH = tuple(map(int, torch.__version__.split(".")[:2]))
COMPOSITE = torch._C.DispatchKey.CompositeExplicitAutograd
OF_DEVICES = (torch._C.DispatchKey.CUDA, COMPOSITE)
DEVICE = torch.ops.prim.device
record = torch.autograd._enable_record_function  # for this thread
PLAIN = (int, float, bool, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format)


def mark(label, below=None):
    """Writes a label into the trace, and below it another one, (name, values), if given."""
    with torch._C._profiler._RecordFunctionFast(label):
        if below is not None:
            with torch._C._profiler._RecordFunctionFast(*below):
                pass


def _fake_tensors(values):
    for each in values:
        if isinstance(each, fake_tensor.FakeTensor):
            yield each
        elif isinstance(each, (list, tuple)):
            yield from _fake_tensors(each)


class _Converter(fake_tensor.FakeTensorConverter):
    """Keeps no reference to the fake tensors that operators make: Module.to() refuses tensors with weak references."""

    def from_meta_and_device(self, fake_mode, t, device, pytype=None, dispatch_keys=None):
        return fake_tensor.FakeTensor(fake_mode, t, device, pytype=pytype, dispatch_keys=dispatch_keys)


class FakeMode(fake_tensor.FakeTensorMode):
    """`handlers`: operator (OpOverloadPacket) → function(func, args, kwargs) that answers it instead."""

    # What the script is told of devices is not for the mode: it would make real tensors there.
    avoid_device_init = True
    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # nothing is compiled here, so that no call needs to be wrapped for it

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        # The most frequent question by far: an observer asks it for each tensor of each operator.
        if func is DEVICE.default and DEVICE not in self.handlers:
            return args[0].fake_device
        if isinstance(func, torch._ops.HigherOrderOperator):  # as on the device: what it calls is the step's
            return self.run_native(func, types, args, kwargs or {}, next(func.py_kernels[key] for key in OF_DEVICES if key in func.py_kernels))
        return self.dispatch(func, types, args, kwargs)

    def __init__(self):
        super().__init__(allow_non_fake_inputs=True, allow_fallback_kernels=False)
        self.memory = Memory()
        self.contents = Contents(self.memory)
        self.fake_tensor_converter = _Converter(copy_data=False)
        self.handlers = {}
        self.rules = meta_rules.register(of_devices=False)
        self._depth = 0

    def _prep_args_for_hash(self, result, args, state, id_hashed_objects):
        """Adds what an operator's answer depends on to the key of torch's cache, as torch does, of fewer attributes. Only a view's answer
        depends on its place in memory: equal layers, whose weights are views of one buffer, share the others."""
        result += (type(args), len(args))
        for each in args.items() if isinstance(args, dict) else args:
            kind = type(each)
            if kind is fake_tensor.FakeTensor and each.fake_mode is self and each.constant is None and each.layout is torch.strided:
                result += (each.dtype, each.shape, each.stride(), each.fake_device, each.requires_grad, each.is_conj(), each.is_neg(),
                           each.is_inference())
                if result[0].is_view:
                    result += (each.storage_offset(), each.untyped_storage().nbytes())
            elif kind in PLAIN:
                result += (kind, each)
            elif kind in (list, tuple):
                self._prep_args_for_hash(result, each, state, id_hashed_objects)
            else:
                super()._prep_args_for_hash(result, (each,), state, id_hashed_objects)

    def may_turn_const(self, t):
        return False  # contents.py knows more of them, on any device

    def create_symbolic_nested_int(self, *, nt_tensor_id=None):
        """Returns a ragged size, as that of real offsets: a number of its own, which nothing compares with others."""
        self.nt_tensor_id_counter += nt_tensor_id is None
        return torch.SymInt(NestedIntNode(self.nt_tensor_id_counter if nt_tensor_id is None else nt_tensor_id, 1))

    def __deepcopy__(self, memo):
        return self  # a copied tensor stays of this mode

    def dispatch(self, func, types, args=(), kwargs=None):
        handler = self.handlers.get(func.overloadpacket, self.dispatch_as_torch)
        self._depth += 1
        try:
            result = handler(func, types, args, kwargs or {})
        finally:
            self._depth -= 1
        if result is NotImplemented:
            mark(SUBCLASS)
        return result

    def dispatch_as_torch(self, func, types, args, kwargs):
        if self._depth > 1:  # what the mode makes while it finds out an operator's results
            return super().dispatch(func, types, args, kwargs)
        record(False)
        try:
            result = super().dispatch(func, types, args, kwargs)
            if result is not NotImplemented:
                for tensor in _fake_tensors((args, result)):
                    if tensor.layout == torch.strided:
                        self.memory.place(tensor, tensor.fake_device)
                self.contents.follow(func, args, kwargs, result)
        finally:
            record(True)
        return result

    def run_native(self, func, types, args, kwargs, native=None):
        """Runs torch's own function of an operator, or another one; the operators that it calls are the step's."""
        mark(NATIVE)
        depth, self._depth = self._depth, 0
        try:
            with self:
                return (native or functools.partial(func._op_dk, COMPOSITE))(*args, **kwargs)
        finally:
            self._depth = depth

    @contextlib.contextmanager
    def aside(self):
        """What runs within is no part of the step: it is neither recorded nor counted."""
        self._depth += 1
        record(False)
        try:
            yield
        finally:
            self._depth -= 1
            record(self._depth < 2)


def enter(on_cuda):
    """Returns the entered mode. With `on_cuda` backward passes need no driver from then on."""
    fake_tensor.init_gpu_context = lambda device: None
    mode = FakeMode()
    mode.__enter__()
    if on_cuda:
        backward.allow_without_driver(mode)
    return mode
