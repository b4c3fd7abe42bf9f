"""Record how values affect an operator's time, without the values.

The cache hits of an index tensor depend on how often numbers occur, where in the range the frequent ones are, and whether they are ordered.
For roots and logarithms the share of zeros matters: vectorised code leaves its fast path for each zero. IndexRecorder watches one step and
keeps these figures call by call; the tensors themselves are never written. docs/formats.md describes the file (rank-R.indices.json);
et_schema/model/reuse.h says how it is used.
"""

from __future__ import annotations

import torch
from torch._ops import HigherOrderOperator
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from .live_tensors import blocks_of
from .recorded_arguments import INDEX_ARGUMENTS, ZERO_ARGUMENTS

FORMAT = "understudy-indices"
VERSION = 1
MOST_BINS = 32  # bins of one tensor's range
MOST_REPEATS = 16  # entries of one bin; beyond that, similar entries are merged
MOST_USES = 20000  # uses in one step; further ones are only counted, further zeros dropped, and the replay draws their values by rule

# fbgemm has an operator for each optimizer and format, with equal names of arguments.
FBGEMM_ARGUMENTS = ("indices", "values", "index")
# Layouts that a replay can create.
SPARSE_LAYOUTS = {torch.sparse_coo: "coo", torch.sparse_csr: "csr", torch.sparse_csc: "csc"}
COMPRESSED_LAYOUTS = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)
PLAIN = (torch.Tensor, torch.nn.Parameter)
INTEGRAL = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)
# Integer types for which torch has no minimum. If an execution trace observer writes ranges, it loses everything after an operator's first
# such argument. Flash attention's random state on a GPU is one.
UNRANKED = dict.fromkeys((torch.uint16, torch.uint32, torch.uint64), "torch has no minimum of unsigned ones, which the step uses")
# Of a subclass, such as DTensor, the minimum would communicate or fail, which ends the observer.
WRAPPED = "a tensor subclass holds some"


def _unrecordable(tensor):
    """Returns the kind of a tensor that torch's execution trace observer cannot record, and its alternative. The observer leaves out such a
    tensor's operators; with gradients, torch ends the program."""
    if tensor.layout in COMPRESSED_LAYOUTS:
        return (f"a sparse tensor of the layout {tensor.layout}",
                "make it one of torch.sparse_coo (Tensor.to_sparse_coo())")
    if tensor.is_nested and tensor.layout == torch.strided:
        return ("a nested tensor of the strided layout",
                "make it one of layout=torch.jagged and, on a CPU, pad it for torch's attention (torch.nested.to_padded_tensor, and a mask), "
                "which makes strided ones of jagged ones there")
    return None


class IndexRecorder(TorchDispatchMode):
    """While entered, records the index arguments of the operators that run."""

    supports_higher_order_operators = True  # while_loop, flex_attention: else torch raises

    @classmethod
    def ignore_compile_internals(cls):
        """Lets compiled code run as usual; this mode still sees the operators that it calls.

        With any other mode, torch.compile runs the model eagerly, in this step and all later ones.
        """
        return True

    def __init__(self):
        super().__init__()
        self.calls = {}  # operator → calls seen
        self.uses = []
        self.numbers = []  # uses of single integers, kept only if the trace will have no ranges
        self.zeros = []
        self.sparse = []
        self.left_out = 0
        self._known_sparse = set()  # addresses of recorded tensors, and of those made in this step
        self.touched = set()  # addresses of the tensors that operators took or returned
        self.why_no_ranges = ""  # the reason why the observer must not ask for the minimum of integers
        self.unrecordable = None  # a kind of tensor that was seen, and its alternative

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if any(issubclass(t, FakeTensor) for t in types):
            return func(*args, **kwargs)  # shapes without numbers; FakeTensor's own mode is entered above this one
        if isinstance(func, HigherOrderOperator):
            self.left_out += 1  # the operators of a loop's body pass by this mode
            return func(*args, **kwargs)
        if not set(types).issubset(PLAIN):
            if any(type(tensor) not in PLAIN and tensor.dtype in INTEGRAL for tensor in _tensors_in((args, kwargs))):
                self.why_no_ranges = WRAPPED
            return NotImplemented  # a subclass: its own calls follow, on plain tensors
        name = func._schema.name
        call = self.calls.get(name, 0)
        self.calls[name] = call + 1
        for position, (argument, tensor) in enumerate(_tensors(func._schema, args, kwargs)):
            self.unrecordable = self.unrecordable or _unrecordable(tensor)
            if tensor.is_nested:
                continue  # a single row has neither sizes nor numbers
            if tensor.layout in SPARSE_LAYOUTS:
                self._keep_sparse(name, call, position, tensor)
            elif tensor.layout == torch.strided and tensor.numel() > 0:
                self._keep_numbers(name, call, position, argument, tensor)
        results = func(*args, **kwargs)
        self._known_sparse.update(_addresses(tensor) for tensor in _tensors_in(results) if tensor.layout in SPARSE_LAYOUTS)
        self.touch((args, kwargs, results))
        return results

    def touch(self, arguments):
        """Records tensors that an operator or a compiled kernel took or returned; modes do not see kernels."""
        for tensor in _tensors_in(arguments):
            self.why_no_ranges = self.why_no_ranges or UNRANKED.get(tensor.dtype, "")
            self.touched.update(_addresses(tensor))

    def _keep_numbers(self, name, call, position, argument, tensor):
        """Records what a plain tensor's numbers decide, if they decide anything."""
        row = name.removesuffix("_")
        indices = INDEX_ARGUMENTS.get(row, FBGEMM_ARGUMENTS if name.startswith("fbgemm::") else ())
        if tensor.dtype in INTEGRAL and argument in indices:
            self.left_out += len(self.uses) >= MOST_USES
            if len(self.uses) < MOST_USES:
                self.uses.append(_use(name, call, position, tensor))
        elif tensor.dtype in INTEGRAL and tensor.dim() == 0:
            self.numbers.append(_use(name, call, position, tensor))
        if tensor.dtype.is_floating_point and argument in ZERO_ARGUMENTS.get(row, ()):
            self._keep_zeros(name, call, position, tensor)

    def _keep_zeros(self, name, call, position, tensor):
        share = 1.0 - int(torch.count_nonzero(tensor.detach())) / tensor.numel()
        if share > 0.0 and len(self.zeros) < MOST_USES:
            self.zeros.append({"op": name, "call": call, "tensor": position,
                               "sizes": list(tensor.shape), "share": round(share, 6)})

    def _keep_sparse(self, name, call, position, tensor):
        """Records a tensor that was sparse before the step: the number of its elements, and their positions."""
        addresses = _addresses(tensor)
        if addresses in self._known_sparse:
            return
        self._known_sparse.add(addresses)
        parts = tensor.detach()
        if tensor.layout != torch.sparse_coo:
            parts = parts.to_sparse_coo()
        if parts._nnz() > 0:
            self.sparse.append({"op": name, "call": call, "tensor": position,
                                "sizes": list(tensor.shape), "layout": SPARSE_LAYOUTS[tensor.layout],
                                "elements": parts._nnz(), "coalesced": parts.is_coalesced(),
                                "indices": [describe(row) for row in parts._indices()]})

    def document(self, rank):
        uses = self.uses + (self.numbers if self.why_no_ranges else [])
        left_out = self.left_out + max(len(uses) - MOST_USES, 0)
        return {"format": FORMAT, "version": VERSION, "rank": rank,
                "calls": dict(sorted(self.calls.items())), "left_out": left_out,
                "uses": uses[:MOST_USES], "zeros": self.zeros, "sparse": self.sparse}


def _tensors_in(values):
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]


def _use(name, call, position, tensor):
    return {"op": name, "call": call, "tensor": position, "sizes": list(tensor.shape),
            **describe(tensor)}


def _tensors(schema, args, kwargs):
    """Yields (argument's name, tensor), lists included, in the order of a trace.

    A Python number in place of a tensor counts as a tensor: only Python treats it as a number.
    """
    for i, argument in enumerate(schema.arguments):
        value = args[i] if i < len(args) else kwargs.get(argument.name)
        for tensor in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(tensor, torch.Tensor):
                yield argument.name, tensor
            elif isinstance(tensor, (int, float)) and argument.type.kind() == "TensorType":
                yield argument.name, torch.tensor(tensor)


def _addresses(tensor):
    return frozenset(address for _, address, _ in blocks_of(tensor))


def describe(tensor):
    """Returns the reuse of a tensor's integers: bins, and the run and order in which they are drawn."""
    draws, run = strip_repetition(tensor.detach().to("cpu", torch.int64))
    numbers, times = torch.unique(draws, return_counts=True)
    described = {"reuse": make_bins(numbers, times)}
    if run > 1:
        described["run"] = run
    if draws.numel() > 1 and bool((draws[1:] >= draws[:-1]).all()):
        described["sorted"] = True
    return described


def strip_repetition(tensor):
    """Returns the list that fills the tensor if each element is repeated `run` times and the whole list is repeated."""
    shape = list(tensor.shape)
    flat = tensor.reshape(-1)
    for length in (flat.numel() // leading for leading in _products(shape)):
        rows = flat.view(-1, length)
        if bool((rows == rows[:1]).all()):
            flat = rows[0]
            break
    run = int(torch.unique_consecutive(flat, return_counts=True)[1][0])
    if run > 1 and flat.numel() % run == 0:
        rows = flat.view(-1, run)
        if bool((rows == rows[:, :1]).all()):
            return rows[:, 0].contiguous(), run
    return flat, 1


def _products(shape):
    """Returns products of leading sizes, largest first: the numbers of equal parts that a list may be divided into."""
    products = [1]
    for size in shape:
        products.append(products[-1] * size)
    return sorted(set(products), reverse=True)


def make_bins(numbers, times):
    """Returns [low, high, *count_repeats()] of each bin, `high` exclusive; bins hold about equally many draws."""
    ends = torch.cumsum(times, 0)
    bins = min(MOST_BINS, numbers.numel())
    wanted = torch.arange(1, bins, dtype=torch.int64) * int(ends[-1]) // bins
    cuts = torch.unique(torch.searchsorted(ends, wanted, right=False) + 1).tolist()
    edges = [0, *(cut for cut in cuts if 0 < cut < numbers.numel()), numbers.numel()]
    starts = [*numbers.tolist(), int(numbers[-1]) + 1]
    return [[starts[first], starts[last], *count_repeats(times[first:last])] for first, last in zip(edges, edges[1:])]


def count_repeats(times):
    """Returns [times, numbers, …], times decreasing: `numbers` numbers occur `times` times. Merges similar entries beyond MOST_REPEATS."""
    counts, numbers = torch.unique(times, return_counts=True)
    pairs = list(zip(counts.flip(0).tolist(), numbers.flip(0).tolist()))
    if len(pairs) > MOST_REPEATS:
        pairs = merge_repeats(pairs)
    return [figure for pair in pairs for figure in pair]


def merge_repeats(pairs):
    """Merges entries whose times differ by less than a common ratio; keeps the total of draws and of different numbers."""
    ratio = (pairs[0][0] / pairs[-1][0]) ** (1.0 / (MOST_REPEATS // 2))
    merged, group, floor = {}, [], pairs[0][0] / ratio

    def close():
        draws = sum(t * n for t, n in group)
        count = sum(n for _, n in group)
        each, more = divmod(draws, count)
        for t, n in ((each + 1, more), (each, count - more)):
            if n:
                merged[t] = merged.get(t, 0) + n
        group.clear()

    for times, numbers in pairs:
        while times < floor and group:
            close()
            floor = times / ratio
        group.append((times, numbers))
    close()
    return sorted(merged.items(), reverse=True)
