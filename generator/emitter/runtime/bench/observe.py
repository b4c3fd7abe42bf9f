"""What operators give, as checksums, and how long they take."""

import time
import weakref

import numpy as np
import torch

from .random import GOLDEN, MASK, mix_one


def checksum(tensor):
    if tensor is None:
        return "-"
    if tensor.layout != torch.strided or tensor.is_meta or tensor.is_quantized:
        return "opaque"
    # A copy has memory of its own and a stride of 1, of a single element too.
    rows = torch.empty(tensor.numel(), dtype=tensor.dtype)
    rows.view(tensor.shape).copy_(tensor)
    data = rows.view(torch.uint8).numpy().tobytes()
    total = mix_one(len(data) + GOLDEN)
    words = np.frombuffer(data + b"\0" * (-len(data) % 8), dtype="<u8")
    for word in words.tolist():
        x = (total ^ word) & MASK
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
        total = ((x ^ (x >> 31)) + GOLDEN) & MASK
    return f"{total:016x}"


def allocates_memory(op):
    """Whether an operator is aten::empty or named after it: what et_schema/model/op_class.h of Understudy says."""
    base = op.partition(".")[0]
    name = (base.partition("::")[2] or base).removeprefix("_").removeprefix("new_")
    return name == "empty" or name.startswith("empty_")


def gives_fresh_memory(op, result):
    """Whether an operator leaves elements of a result as memory had them, as observe.h has it."""
    # Of a CTC loss the paths behind an example's own length, of an LSTM parts of its workspace.
    return (allocates_memory(op) or "resize" in op or
            (op.partition(".")[0], result) in (("aten::_ctc_loss", 1), ("aten::mkldnn_rnn_layer", 3)))


class FreshMemory:
    """Memory of which elements have not been written yet. Views of it hold anything, too."""

    # Parts of names: these write where indices or a mask say, or only look at memory otherwise.
    PARTLY = ("index", "scatter", "masked", "put_", "diagonal", "as_strided", "detach", "squeeze",
              "swapaxes", "swapdims", "::t_", "transpose")

    def __init__(self):
        self._unwritten = weakref.WeakValueDictionary()  # storages by id

    def is_shown(self, op, result, tensor):
        """Whether a result holds elements that nobody wrote; to be asked of each, in order."""
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
    """Of an operator by its name one that notes its results in `lines`."""
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
    """Of an operator one that adds the milliseconds of its calls on the host to `times`, by its name."""
    def wrap(name, operator):
        def call(*given, **named):
            begin = time.perf_counter()
            result = operator(*given, **named)
            times[name] = times.get(name, 0.0) + (time.perf_counter() - begin) * 1000
            return result
        return call
    return wrap
