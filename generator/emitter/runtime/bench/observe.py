"""Checksums of what operators give."""

import numpy as np
import torch
from torch.multiprocessing.reductions import StorageWeakRef

from .random import GOLDEN, MASK, mix_one


def checksum(tensor):
    if tensor is None:
        return "-"
    if tensor.layout != torch.strided or tensor.is_meta or tensor.is_quantized:
        return "opaque"
    if tensor._is_zerotensor():  # without memory
        tensor = torch.zeros_like(tensor)
    rows = tensor.detach().resolve_conj().resolve_neg().cpu().flatten()
    # A copy has a stride of 1, of a single element too.
    data = rows.clone(memory_format=torch.contiguous_format).view(torch.uint8).numpy().tobytes()
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
        self._unwritten = {}  # while it is known here, a storage's address is no other's

    def is_shown(self, op, result, tensor):
        """Whether a result holds elements that nobody wrote; to be asked of each, in order."""
        base, _, overload = op.partition(".")
        is_new = gives_fresh_memory(op, result)
        if tensor is None or tensor.layout != torch.strided:
            return is_new
        storage = tensor.untyped_storage()
        if is_new:
            self._unwritten[storage._cdata] = StorageWeakRef(storage)
            return True
        if storage._cdata not in self._unwritten:
            return False
        writes = base.endswith("_") or "out" in overload
        if not writes or any(part in base for part in self.PARTLY):
            return True
        if tensor.nbytes >= storage.nbytes():
            del self._unwritten[storage._cdata]
        return False


class Recorder:
    """Stands in for torch.ops in a step, and notes what each call gives."""

    def __init__(self, target, lines, path=(), fresh=None):
        self._target, self._lines, self._path = target, lines, path
        self._fresh = FreshMemory() if fresh is None else fresh

    def __getattr__(self, name):
        return Recorder(getattr(self._target, name), self._lines, self._path + (name,), self._fresh)

    def __call__(self, *args, **kwargs):
        result = self._target(*args, **kwargs)
        space, name, overload = self._path
        full = f"{space}::{name}" + ("" if overload == "default" else f".{overload}")
        flat = []
        for value in result if isinstance(result, (list, tuple)) else [result]:
            flat += list(value) if isinstance(value, (list, tuple)) else [value]
        flat = [v for v in flat if v is None or isinstance(v, torch.Tensor)] if result is not None else []
        noted = ["fresh" if self._fresh.is_shown(full, i, v) else checksum(v) for i, v in enumerate(flat)]
        self._lines.append(" ".join([full] + noted))
        return result
