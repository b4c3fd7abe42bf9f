"""What a script reads out of tensors that have no contents: numbers to print are answered, what decides the program is refused."""

from __future__ import annotations

import sys
import traceback
from collections import Counter
from pathlib import Path

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily

ANSWER = 1.0  # of a number that is not known; counts of steps divide by it
UNKNOWN = "?"  # such a number, printed
# Files that are not the user's: ours, torch's and those of other installed packages.
OURS = (str(Path(__file__).resolve().parents[1]), str(Path(torch.__file__).parents[1]), "<frozen")
NO_POINTER = "Cannot access data pointer of Tensor"  # torch's own words
GUARD = "move it out of the captured steps, or leave it out for this capture"


_refused = ""  # the last refusal: torch's C++ turns one raised inside of it into a TypeError


class Unsupported(RuntimeError):
    """The script does what cannot be done without contents."""


def script_line(stack=None):
    """Returns the innermost line of the user's code, as `train.py:12`."""
    if stack is None:
        frame = sys._getframe(1)
        while frame is not None:
            name = frame.f_code.co_filename
            if not name.startswith(OURS):
                return f"{Path(name).name}:{frame.f_lineno}"
            frame = frame.f_back
        return "the script"
    lines = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in stack if not frame.filename.startswith(OURS)]
    return lines[-1] if lines else "the script"


def refuse(what, hint=GUARD):
    global _refused
    _refused = f"{script_line()}: {what}; {hint}"
    raise Unsupported(_refused)


def _decides(self, *_):
    refuse(f"a tensor's value, read at {self.source}, decides what the program does, and it was never computed")


class Unread(float):
    """A number whose value is not known: it prints as `?`, arithmetic gives another one, a comparison is refused."""

    def __new__(cls, source):
        number = super().__new__(cls, ANSWER)
        number.source = source
        return number

    def __format__(self, spec):
        return UNKNOWN

    def __repr__(self):
        return UNKNOWN

    __str__ = __repr__
    __hash__ = float.__hash__
    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __int__ = __index__ = __trunc__ = __round__ = _decides


class UnreadCount(Unread):
    """An integer whose value is not known. It is no int: as a size it would be taken for its answer."""


def _carry(name):
    def compute(self, *others):
        result = getattr(float, name)(self, *others)
        if result is NotImplemented:
            return result
        unread = type(self)(self.source)
        return unread
    return compute


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    for _side in (f"__{_name}__", f"__r{_name}__"):
        setattr(Unread, _side, _carry(_side))
for _name in ("__neg__", "__abs__", "__pos__"):
    setattr(Unread, _name, _carry(_name))


def _is_known(tensor):
    """Returns whether the mode followed the contents: numbers of the script, such as a count of steps."""
    return not isinstance(tensor, FakeTensor) or tensor.constant is not None


def _known(tensor, read):
    with unset_fake_temporarily():
        return read(tensor.constant if isinstance(tensor, FakeTensor) else tensor)


class Values:
    """Answers reads while installed. `read` counts them by line of the script."""

    def __init__(self):
        self.read = Counter()
        self._originals = {}

    def install(self, mode):
        mode.handlers[torch.ops.aten._local_scalar_dense] = self._local_scalar
        for name, read in (("item", self._item), ("__format__", self._format), ("__bool__", self._bool), ("__float__", self._float),
                           ("__int__", self._int), ("__index__", self._int), ("tolist", self._list), ("numpy", self._array),
                           ("__array__", self._array), ("is_nonzero", self._bool)):
            self._originals[name] = getattr(torch.Tensor, name)
            setattr(torch.Tensor, name, self._reading(read, self._originals[name]))
        FakeTensor.tolist = torch.Tensor.tolist  # it has one of its own

    @staticmethod
    def _reading(read, original):
        def answer(tensor, *arguments, **options):
            if isinstance(tensor, FakeTensor):
                return read(tensor, *arguments, **options)
            return original(tensor, *arguments, **options)
        return answer

    @staticmethod
    def _local_scalar(func, types, args, kwargs):
        tensor = args[0]
        if _is_known(tensor):
            return _known(tensor, func)
        return ANSWER if tensor.is_floating_point() else int(ANSWER)

    def _item(self, tensor):
        value = self._originals["item"](tensor)  # for the trace
        if _is_known(tensor):
            return value
        if tensor.dtype == torch.bool:
            refuse("a tensor's truth is read, and it was never computed")
        line = script_line()
        self.read[line] += 1
        return (Unread if tensor.is_floating_point() else UnreadCount)(line)

    def _float(self, tensor):
        if _is_known(tensor):
            return _known(tensor, float)
        self._item(tensor)
        return ANSWER

    def _format(self, tensor, spec):
        return format(self._item(tensor) if tensor.dim() == 0 else repr(tensor), spec)

    @staticmethod
    def _bool(tensor):
        if _is_known(tensor):
            return _known(tensor, bool)
        refuse("a tensor decides what the program does (if, while, assert), and its value was never computed")

    @staticmethod
    def _int(tensor):
        if _is_known(tensor):
            return _known(tensor, int)
        refuse("a tensor's value is read as an integer (a size, an index), and it was never computed")

    @staticmethod
    def _list(tensor):
        if _is_known(tensor):
            return _known(tensor, torch.Tensor.tolist)
        refuse("tolist() reads a tensor's values, and they were never computed")

    @staticmethod
    def _array(tensor, *_, **__):
        if _is_known(tensor):
            return _known(tensor, torch.Tensor.numpy)
        refuse("a tensor's values are read into numpy, and they were never computed")


def refusal(error):
    """Returns why the script cannot be captured, as one line, or None if the error is the script's own."""
    from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, UnsupportedOperatorException
    seen = error
    while seen is not None:
        line = script_line(traceback.extract_tb(seen.__traceback__))
        if isinstance(seen, Unsupported):
            return str(seen)
        if isinstance(seen, TypeError) and _refused.startswith(f"{line}: "):
            return _refused
        if isinstance(seen, torch.AcceleratorError):
            return (f"{line}: torch asks CUDA's driver there, as recurrent layers of cuDNN do, and there is none; leave this part out, or "
                    "capture it on a card")
        if isinstance(seen, RuntimeError) and NO_POINTER in str(seen):
            return (f"{line}: a tensor's address is read, as an extension in C++ or CUDA does, and it has none; take torch's own operators "
                    "for this capture")
        if isinstance(seen, DynamicOutputShapeException):
            return (f"{line}: {seen.func} has a result whose size depends on values, which were never computed; use a form of fixed size "
                    f"(torch.where, a mask that multiplies), or {GUARD}")
        if isinstance(seen, DataDependentOutputException):
            return f"{line}: {seen.func} needs a tensor's value, which was never computed; {GUARD}"
        if isinstance(seen, UnsupportedOperatorException):
            return (f"{line}: nothing says which sizes {seen.func} returns; give it an implementation without contents "
                    "(torch.library.register_fake), or take a form of torch's own operators for this capture")
        seen = seen.__cause__ or seen.__context__
    return None
