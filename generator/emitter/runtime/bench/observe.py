"""Checksums of operators' results, and operators' times."""

import time
import weakref

import torch

from .random import GOLDEN, MASK, mix, mix_one, signed


def checksum(tensor):
    if tensor is None:
        return "-"
    if tensor.layout != torch.strided or tensor.is_meta or tensor.is_quantized:
        return "opaque"
    # A copy has its own memory and a stride of 1, even for a single element.
    rows = torch.empty(tensor.numel(), dtype=tensor.dtype)
    rows.view(tensor.shape).copy_(tensor)
    data = rows.view(torch.uint8)
    words = torch.nn.functional.pad(data, (0, -len(data) % 8)).view(torch.int64)
    places = torch.arange(1, len(words) + 1) * signed(GOLDEN)
    total = mix_one(len(data) + GOLDEN) + int(mix(words + places).sum())
    return f"{total & MASK:016x}"


def allocates_memory(op):
    """Returns true if an operator is aten::empty or named after it. Must agree with et_schema/model/op_class.h of Understudy."""
    base = op.partition(".")[0]
    name = (base.partition("::")[2] or base).removeprefix("_").removeprefix("new_")
    return name == "empty" or name.startswith("empty_")


def gives_fresh_memory(op, result):
    """Returns true if an operator leaves elements of a result unwritten. Must agree with observe.h."""
    # A CTC loss leaves the paths beyond an example's length unwritten; an LSTM leaves parts of its workspace unwritten.
    return (allocates_memory(op) or "resize" in op or
            (op.partition(".")[0], result) in (("aten::_ctc_loss", 1), ("aten::mkldnn_rnn_layer", 3)))


class FreshMemory:
    """Memory with elements that were not written yet. Views of it may hold anything, too."""

    # Parts of names of operators that write only where indices or a mask point, or that only view memory.
    PARTLY = ("index", "scatter", "masked", "put_", "diagonal", "as_strided", "detach", "squeeze",
              "swapaxes", "swapdims", "::t_", "transpose")

    def __init__(self):
        self._unwritten = weakref.WeakValueDictionary()  # storages by id

    def is_shown(self, op, result, tensor):
        """Returns true if a result has unwritten elements. Must be called for each result, in order."""
        base, _, overload = op.partition(".")
        is_new = gives_fresh_memory(op, result)
        if tensor is None or tensor.layout != torch.strided:
            return is_new
        storage = tensor.untyped_storage()
        if is_new:
            self._unwritten[id(storage)] = storage
            return True
        if id(storage) not in self._unwritten:
            return False
        writes = base.endswith("_") or "out" in overload
        if not writes or any(part in base for part in self.PARTLY):
            return True
        if tensor.nbytes >= storage.nbytes():
            del self._unwritten[id(storage)]
        return False


def noting_checksums(lines):
    """Returns a wrapper that appends checksums of an operator's results to `lines`."""
    fresh = FreshMemory()

    def wrap(name, operator):
        def call(*given, **named):
            result = operator(*given, **named)
            flat = []
            for value in result if isinstance(result, (list, tuple)) else [result]:
                flat += list(value) if isinstance(value, (list, tuple)) else [value]
            flat = [v for v in flat if v is None or isinstance(v, torch.Tensor)] if result is not None else []
            noted = ["fresh" if fresh.is_shown(name, i, v) else checksum(v) for i, v in enumerate(flat)]
            lines.append(" ".join([name] + noted))
            return result
        return call
    return wrap


def timing(times):
    """Returns a wrapper that adds the host milliseconds of an operator's calls to `times`, by name."""
    def wrap(name, operator):
        def call(*given, **named):
            begin = time.perf_counter()
            result = operator(*given, **named)
            times[name] = times.get(name, 0.0) + (time.perf_counter() - begin) * 1000
            return result
        return call
    return wrap
