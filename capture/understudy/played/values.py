"""What a script reads out of tensors that were never computed: numbers to print are answered, what decides the program is refused."""

from __future__ import annotations

import array
import ctypes
import functools
import math
import sys
import traceback
from collections import Counter
from pathlib import Path

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from ..native import load

ANSWER = 1.0  # of a number that is not known; counts of steps divide by it
MARKED = math.nextafter(ANSWER, 2)  # the same, as an operator of torch sees it: kUnread of capture/played/contents/tensors.h
UNKNOWN = "?"  # such a number, printed
MOST_NUMBERS = 1 << 20  # of one tensor that are said to be finite
# Files that are not the user's: ours, torch's and those of other installed packages.
OURS = (str(Path(__file__).resolve().parents[1]), str(Path(torch.__file__).parents[1]), "<frozen")
GUARD = "move it out of the captured steps, or leave it out for this capture"
FIXED_SIZE = f"use a form of fixed size (torch.where, a mask that multiplies), or {GUARD}"
NEVER = "never computed"
# Method of a tensor → what is said of a value that decides the program.
DECIDES = dict.fromkeys(("__bool__", "is_nonzero"), f"a tensor decides what the program does (if, while, assert), and its value was {NEVER}")
DECIDES |= dict.fromkeys(("__int__", "__index__"), f"a tensor's value is read as an integer (a size, an index), and it was {NEVER}")
LEAVES = {"tolist": "tolist() reads a tensor's values"} | dict.fromkeys(("numpy", "__array__"), "a tensor's values are read into numpy")
LEAVES |= {"__dlpack__": "a tensor's values are given to another library", "__complex__": "a tensor's value is read as a complex number"}
DECIDES |= {name: f"{what}, and they were {NEVER}" for name, what in LEAVES.items()}
PLAIN = (f"float() makes a plain number of a tensor's value, which was {NEVER}", "use .item(), whose number prints as ?, sums, and does not decide unseen")
TORCH = str(Path(torch.__file__).parent)
COMPARES = ("equal", "allclose")
FINITE = {"isfinite": True, "isnan": False, "isinf": False}  # a number that is not known is
EVENLY = "histc"  # numbers that are not known fall so into its bins: a router's tokens on its experts
CODES = {torch.bool: "b", torch.int32: "i", torch.int64: "q", torch.float32: "f", torch.float64: "d"}  # as array.array names them
# Functions of torch that make a tensor of a script's numbers.
FROM_NUMBERS = ((torch, "tensor"), (torch, "as_tensor"), (torch, "asarray"), (torch.Tensor, "new_tensor"))

skipped: Counter[str] = Counter()  # what was not done, by line
_refused = ""  # the last refusal: torch's C++ turns one raised inside of it into a TypeError
_contents = None  # capture/played/contents, once loaded


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


def _told(is_decision):
    return _contents.understudy_refused(is_decision).decode() if _contents else ""


def _hint(what):
    return FIXED_SIZE if "size depends" in what else GUARD


def check_refused():
    """Refuses what torch's C++ decided by a value that is not known."""
    what = _told(is_decision=True)
    if what:
        refuse(what, _hint(what))


def skip(what):
    skipped[f"{what} at {script_line()}"] += 1


def _decides(self, *_):
    refuse(f"a tensor's value, read at {self.source}, decides what the program does, and it was {NEVER}")


def _plain():
    """Returns the answer to torch's own functions, which compute with it."""
    asks = next(frame for frame, _ in traceback.walk_stack(sys._getframe(1)) if frame.f_code.co_filename != __file__)
    return ANSWER if asks.f_code.co_filename.startswith(TORCH) else refuse(*PLAIN)


class Unread(float):
    """A number whose value is not known: it prints as `?`, arithmetic gives another one, a comparison is refused. One that a tensor holds as
    an integer is no int: as a size it would be taken for its answer."""

    def __new__(cls, source):
        number = super().__new__(cls, MARKED)
        number.source = source
        return number

    def __format__(self, spec):
        return UNKNOWN

    def __repr__(self):
        return UNKNOWN

    def __float__(self):
        return _plain()

    def __round__(self, digits=None):
        return _decides(self) if digits is None else Unread(self.source)

    def __array_ufunc__(self, function, *_, **__):
        if function.__name__ in FINITE:
            return FINITE[function.__name__]
        return _decides(self) if function.types[1].endswith("?") else Unread(self.source)

    __str__ = __repr__
    __hash__ = float.__hash__
    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __int__ = __index__ = __trunc__ = _decides
    __floor__ = __ceil__ = is_integer = as_integer_ratio = __divmod__ = __rdivmod__ = _decides


def _carry(name):
    def compute(self, *others):
        result = getattr(float, name)(self, *others)
        if result is NotImplemented:
            return result
        return Unread(self.source)
    return compute


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    for _side in (f"__{_name}__", f"__r{_name}__"):
        setattr(Unread, _side, _carry(_side))
for _name in ("__neg__", "__abs__", "__pos__"):
    setattr(Unread, _name, _carry(_name))


def _unread_in(value):
    """Returns a number within a script's nested lists that is not known, or None."""
    if isinstance(value, (list, tuple)):
        return next(filter(lambda found: found is not None, map(_unread_in, value)), None)
    return value if isinstance(value, Unread) else None


def _in_place_of(original, ours):
    """What torch compiles has the original, as it would have without us."""
    @functools.wraps(original)
    def function(*arguments, **options):
        return (original if torch.compiler.is_compiling() else ours)(*arguments, **options)

    return function


class Memory:
    """What the played driver says of a tensor's bytes."""

    def __init__(self, driver):
        self._driver = driver
        for ask in (_contents.understudy_is_assumed, driver.played_assume, driver.played_know, driver.played_give):
            ask.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * (ask is _contents.understudy_is_assumed))

    def _bytes(self, tensor):
        last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
        return tensor.untyped_storage().data_ptr() + tensor.storage_offset() * tensor.element_size(), (last + 1) * tensor.element_size()

    def is_assumed(self, tensor):
        if is_traceable_wrapper_subclass(tensor):
            return any(self.is_assumed(getattr(tensor, name)) for name in tensor.__tensor_flatten__()[0])
        if torch._C._dispatch_keys(tensor).has(torch._C.DispatchKey.Python):  # a compiler's
            return False
        if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            return self.is_assumed(torch._C._functorch.get_unwrapped(tensor))
        if tensor.layout != torch.strided:
            return tensor.device.type == "cuda"
        has_memory = tensor.device.type in ("cpu", "cuda") and tensor.numel() and not tensor._is_zerotensor()
        return bool(has_memory and _contents.understudy_is_assumed(*self._bytes(tensor), tensor.device.type == "cpu"))

    def assume(self, tensor):
        self._driver.played_assume(*self._bytes(tensor))

    def give(self, storage):
        self._driver.played_give(storage.data_ptr(), storage.nbytes())

    def fill(self, tensor, numbers):
        """Makes a new tensor known. The card's memory is the host's, too."""
        told = array.array(CODES[tensor.dtype], numbers).tobytes()
        ctypes.memmove(tensor.data_ptr(), told, len(told))
        self._driver.played_know(tensor.data_ptr(), len(told))


class Values:
    """Answers reads of what is not known while installed. `read` counts them by line of the script."""

    def __init__(self):
        self.read = Counter()

    def install(self, driver):
        global _contents
        _contents = load("contents")
        _contents.understudy_refused.restype = ctypes.c_char_p
        _contents.understudy_follow_contents()
        self._memory = Memory(driver)
        self._item_of = torch.Tensor.item
        for name, read in (("item", self._item), ("__float__", self._float), ("__repr__", self._repr), ("__format__", self._format)):
            self._answer(name, read)
        for name, what in DECIDES.items():
            self._answer(name, lambda tensor, *_, what=what, **__: refuse(what))
        for owner in (torch, torch.Tensor):
            for name in (*FINITE, EVENLY):
                setattr(owner, name, self._as_usual(name, getattr(owner, name)))
            for name in COMPARES:
                setattr(owner, name, _checked(getattr(owner, name)))
        for owner, name in FROM_NUMBERS:
            setattr(owner, name, self._from_numbers(getattr(owner, name)))
        for name, compute in vars(math).items():
            if callable(compute) and not name.startswith("_"):
                setattr(math, name, _computed(name, compute))
        self._take_memory()
        _scale_as_without_overflow()

    def _answer(self, name, read):
        """`read` answers where the contents are not known, torch's own method where they are."""
        original = getattr(torch.Tensor, name)

        def answer(tensor, *arguments, **options):
            return (read if self._memory.is_assumed(tensor) else original)(tensor, *arguments, **options)

        setattr(torch.Tensor, name, _in_place_of(original, answer))

    def _as_usual(self, name, ask):
        """What is assumed of numbers that are not known becomes known."""
        def answer(tensor, *arguments, **options):
            result = ask(tensor, *arguments, **options)
            if self._memory.is_assumed(result) and result.numel() <= MOST_NUMBERS and result.dtype in CODES:
                self.read[script_line()] += 1
                self._memory.fill(result, _usual(name, tensor.numel(), result.numel()))
            return result

        return _in_place_of(ask, answer)

    def _from_numbers(self, make):
        def made(*arguments, **options):
            result = make(*arguments, **options)
            if _unread_in((*arguments, *options.values())) is not None:
                self._memory.assume(result)
            return result

        return _in_place_of(make, made)

    def _take_memory(self):
        """What takes memory of the card without an operator: compiled code, and FSDP, which gives a storage's back and takes it again."""
        from torch._C._dynamo import guards

        empty, resize = guards._empty_strided_cuda, torch.UntypedStorage.resize_

        def empty_strided(*arguments):
            result = empty(*arguments)
            self._memory.give(result.untyped_storage())
            return result

        def resize_(storage, size):
            is_grown = size > storage.nbytes()
            result = resize(storage, size)
            if is_grown and storage.device.type == "cuda":
                self._memory.give(storage)
            return result

        guards._empty_strided_cuda, torch.UntypedStorage.resize_ = empty_strided, resize_

    def _item(self, tensor):
        _contents.understudy_permit_reads(1)
        try:
            self._item_of(tensor)  # for the trace
        finally:
            _contents.understudy_permit_reads(0)
        if tensor.dtype == torch.bool:
            refuse(f"a tensor's truth is read, and it was {NEVER}")
        line = script_line()
        self.read[line] += 1
        return Unread(line)

    def _float(self, tensor):
        self._item(tensor)
        return _plain()

    def _repr(self, tensor, **_):
        return f"tensor({UNKNOWN}, size={tuple(tensor.shape)}, dtype={tensor.dtype}, device='{tensor.device}')"

    def _format(self, tensor, spec):
        return format(tensor.item() if tensor.dim() == 0 else repr(tensor), spec)


def _usual(name, count, size):
    """Returns what a function of torch finds in `count` numbers that are not known, as a list of `size`."""
    return [count // size + (place < count % size) for place in range(size)] if name == EVENLY else [FINITE[name]] * size


def _checked(compare):
    """The comparison returns a truth, or fails where it would read."""
    def checked(*arguments, **options):
        try:
            return compare(*arguments, **options)
        finally:
            check_refused()

    return _in_place_of(compare, checked)


def _computed(name, compute):
    def computed(*arguments, **options):
        given = [each.item() if isinstance(each, torch.Tensor) else each for each in arguments]
        number = _unread_in(given)
        if name in FINITE and number is not None:
            return FINITE[name]
        result = compute(*given, **options)
        return result if number is None else Unread(number.source) if isinstance(result, float) else _decides(number)

    return _in_place_of(compute, computed)


def _scale_as_without_overflow():
    """GradScaler reads whether a gradient overflowed; none does."""
    from torch.amp import GradScaler

    def maybe_step(scaler, optimizer, state, *args, **kwargs):
        for found in state["found_inf_per_device"].values():
            found.item()
        return optimizer.step(*args, **kwargs)

    GradScaler._maybe_opt_step = maybe_step


def refusal(error):
    """Returns why the script cannot be captured, as one line, or None if the error is the script's own."""
    decision, seen = _told(is_decision=True), error
    while seen is not None:
        line = script_line(reversed([*traceback.walk_tb(seen.__traceback__)]))
        if isinstance(seen, Unsupported):
            return str(seen)
        if isinstance(seen, TypeError) and _refused.startswith(f"{line}: "):
            return _refused
        if decision:
            return f"{line}: {decision}; {_hint(decision)}"
        if isinstance(seen, RuntimeError) and _told(is_decision=False):
            return f"{line}: {_told(is_decision=False)}; leave this part out, or capture it on a card"
        seen = seen.__cause__ or seen.__context__
    return None
