"""What a script reads out of tensors that have no contents: numbers to print are answered, what decides the program is refused."""

from __future__ import annotations

import sys
import traceback
from collections import Counter
from pathlib import Path

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException, DynamicOutputShapeException, FakeTensor, UnsupportedOperatorException, unset_fake_temporarily)

ANSWER = 1.0  # of a number that is not known; counts of steps divide by it
UNKNOWN = "?"  # such a number, printed
# Files that are not the user's: ours, torch's and those of other installed packages.
OURS = (str(Path(__file__).resolve().parents[1]), str(Path(torch.__file__).parents[1]), "<frozen")
NO_POINTER = "Cannot access data pointer of Tensor"  # torch's own words
GUARD = "move it out of the captured steps, or leave it out for this capture"
# Method of a tensor → what is said of a value that decides the program.
DECIDES = dict.fromkeys(("__bool__", "is_nonzero"), "a tensor decides what the program does (if, while, assert), and its value was never "
                                                    "computed")
DECIDES |= dict.fromkeys(("__int__", "__index__"), "a tensor's value is read as an integer (a size, an index), and it was never computed")
LEAVES = {"tolist": "tolist() reads a tensor's values"} | dict.fromkeys(("numpy", "__array__"), "a tensor's values are read into numpy")


skipped: Counter[str] = Counter()  # what was not done, by line
_refused = ""  # the last refusal: torch's C++ turns one raised inside of it into a TypeError


class Unsupported(RuntimeError):
    """The script does what cannot be done without contents."""


def script_line(frames=None):
    """Returns the innermost line of the user's code, as `train.py:12`. `frames`: from the innermost one, with their lines."""
    for frame, line in frames or traceback.walk_stack(sys._getframe(1)):
        if not frame.f_code.co_filename.startswith(OURS):
            return f"{Path(frame.f_code.co_filename).name}:{line}"
    return "the script"


def refuse(what, hint=GUARD):
    global _refused
    _refused = f"{script_line()}: {what}; {hint}"
    raise Unsupported(_refused)


def skip(what):
    skipped[f"{what} at {script_line()}"] += 1


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
        return type(self)(self.source)
    return compute


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    for _side in (f"__{_name}__", f"__r{_name}__"):
        setattr(Unread, _side, _carry(_side))
for _name in ("__neg__", "__abs__", "__pos__"):
    setattr(Unread, _name, _carry(_name))


class Values:
    """Answers reads of what is not known while installed. `read` counts them by line of the script."""

    def __init__(self):
        self.read = Counter()

    def install(self, mode):
        self._contents = mode.contents
        self._item_of = torch.Tensor.item
        mode.handlers[torch.ops.aten._local_scalar_dense] = self._local_scalar
        for name, read in (("item", self._item), ("__float__", self._float)):
            self._answer(name, read)
        for name, what in DECIDES.items():
            self._answer(name, lambda tensor, *_, what=what, **__: refuse(what))
        for name in LEAVES:
            read = getattr(torch.Tensor, name)
            self._answer(name, lambda tensor, *_, name=name, **__: refuse(f"{LEAVES[name]}, and they were never computed"),
                         lambda tensor, *arguments, read=read, **options: self._leave(mode, read, tensor, arguments, options))
        for name, usual in (("isfinite", True), ("isnan", False), ("isinf", False)):
            for owner in (torch, torch.Tensor):
                setattr(owner, name, self._as_usual(mode, getattr(owner, name), usual))
        original = torch.Tensor.__format__
        torch.Tensor.__format__ = lambda tensor, spec: (
            format(tensor.item() if tensor.dim() == 0 else repr(tensor), spec) if isinstance(tensor, FakeTensor) else original(tensor, spec))
        FakeTensor.tolist = torch.Tensor.tolist  # it has one of its own

    def _answer(self, name, read, known=None):
        """`read` answers where the contents are not known, `known` or torch's own method where they are."""
        original = getattr(torch.Tensor, name)
        known = known or original

        def answer(tensor, *arguments, **options):
            if not isinstance(tensor, FakeTensor):
                return original(tensor, *arguments, **options)
            return (known if self._contents.holds(tensor) else read)(tensor, *arguments, **options)

        setattr(torch.Tensor, name, answer)

    def _as_usual(self, mode, ask, usual):
        """A number that is not known is finite."""
        def answer(tensor, *arguments, **options):
            result = ask(tensor, *arguments, **options)
            if isinstance(result, FakeTensor) and not self._contents.holds(result):
                self.read[script_line()] += 1
                with mode.aside(), unset_fake_temporarily():
                    self._contents.assume(result, usual)
            return result

        return answer

    def _leave(self, mode, read, tensor, arguments, options):
        with mode.aside(), unset_fake_temporarily():
            return read(self._contents.of(tensor), *arguments, **options)

    def _local_scalar(self, func, types, args, kwargs):
        known = self._contents.of(args[0])
        if known is not None:
            return func(known)
        return ANSWER if args[0].is_floating_point() else int(ANSWER)

    def _item(self, tensor):
        self._item_of(tensor)  # for the trace
        if tensor.dtype == torch.bool:
            refuse("a tensor's truth is read, and it was never computed")
        line = script_line()
        self.read[line] += 1
        return (Unread if tensor.is_floating_point() else UnreadCount)(line)

    def _float(self, tensor):
        self._item(tensor)
        return ANSWER


def refusal(error):
    """Returns why the script cannot be captured, as one line, or None if the error is the script's own."""
    seen = error
    while seen is not None:
        line = script_line(reversed([*traceback.walk_tb(seen.__traceback__)]))
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
