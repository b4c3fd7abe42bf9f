"""Makes tensors, times a step, writes a report: what every emitted Python benchmark shares."""

import argparse
import json
import math
import os
import statistics
import sys
import time

import numpy as np
import torch

# Random numbers are pure functions of (seed, tensor, element), the same on every platform.

GOLDEN = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def mix(x):
    """The finaliser of SplitMix64, of an array of uint64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def mix_one(x):
    return int(mix(np.array([x & MASK], dtype=np.uint64))[0])


def to_unit(bits):
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0 ** -53


def to_range(bits, width):
    """The upper half of bits * width: [0, width)."""
    width = int(width)
    low, high = np.uint64(width & 0xFFFFFFFF), np.uint64(width >> 32)
    a, b = bits & np.uint64(0xFFFFFFFF), bits >> np.uint64(32)
    middle = b * low + ((a * low) >> np.uint64(32))
    middle2 = a * high + (middle & np.uint64(0xFFFFFFFF))
    return (b * high + (middle >> np.uint64(32)) + (middle2 >> np.uint64(32))).astype(np.int64)


def permuted(positions, count, key):
    """Where positions come to stand in a random permutation of [0, count)."""
    half = max(1, (int(count).bit_length() + 1) // 2)
    mask, half = np.uint64((1 << half) - 1), np.uint64(half)
    value = np.asarray(positions).astype(np.uint64)
    open_ = np.ones(value.shape, dtype=bool)
    while open_.any():
        v = value[open_]
        left, right = v >> half, v & mask
        for r in range(4):
            step = np.uint64((key + (r + 1) * GOLDEN) & MASK)
            left, right = right, left ^ (mix(step + right) & mask)
        value[open_] = (left << half) | right
        open_ = value >= np.uint64(count)
    return value.astype(np.int64)


def scaled(a, b, c):
    return int(a) * int(b) // int(c)


class Rule:
    def __init__(self, kind, **values):
        self.kind = kind
        self.__dict__.update(values)


def zeros(): return Rule("integer", draw=lambda d, i: np.zeros(len(i), np.int64))
def constant(value): return Rule("real", constant=value, draw=lambda d, i: np.full(len(i), value, np.float64))
def uniform(low, high):
    return Rule("real", bounds=(low, high), draw=lambda d, i: low + (high - low) * to_unit(d.bits(i)))


def normal(mean, deviation):
    def draw(d, i):
        bits = d.bits(i)
        total = sum(((bits >> np.uint64(s)) & np.uint64(0xFFFF)).astype(np.int64) for s in (0, 16, 32, 48))
        return mean + deviation * ((2 * total - 4 * 65535).astype(np.float64) * (1 / 75674.46))
    return Rule("real", draw=draw)


def integers(low, high, distinct=0):
    def draw(d, i):
        width = high - low
        if distinct <= 0:
            return low + to_range(d.bits(i), width)
        few = min(int(distinct), width, max(d.numel, 1))
        place = permuted(i, d.numel, d.key)
        return low + np.where(place < few, place, to_range(d.bits(i), few)) * (width // few)
    return Rule("integer", draw=draw)


def boundary(d, first, i, count, total):
    """Boundary i of `count` random pieces of [0, total]."""
    if i <= 0 or i >= count:
        return 0 if i <= 0 else total
    low, high = scaled(i, total, count), scaled(i + 1, total, count)
    bits = d.bits(np.array([first + i], dtype=np.int64))
    return low + int(to_range(bits, high - low + 1)[0])


def offsets(high, include_last):
    def draw(d, i):
        count = d.numel - 1 if include_last else d.numel
        return np.array([boundary(d, 0, int(e), count, high) for e in i], dtype=np.int64)
    return Rule("integer", draw=draw)


def lengths(segments):
    def draw(d, i):
        out, start = [], 0
        for count, total in segments:
            ends = [boundary(d, start, k, count, total) for k in range(count + 1)]
            out += [b - a for a, b in zip(ends, ends[1:])]
            start += count
        return np.array(out, dtype=np.int64)
    return Rule("integer", draw=draw)


def arange(first, step): return Rule("integer", draw=lambda d, i: first + i * step)
def bernoulli(p): return Rule("integer", draw=lambda d, i: (to_unit(d.bits(i)) < p).astype(np.int64))
def mask(count): return Rule("integer", draw=lambda d, i: (permuted(i, d.numel, d.key) < count).astype(np.int64))


def targets(classes, ignored, p):
    def draw(d, i):
        bits = d.bits(i)
        return np.where(to_unit(bits) < p, ignored, to_range(mix(bits + np.uint64(GOLDEN)), classes))
    return Rule("integer", draw=draw)


def reuse(low, high, bins, run=1, is_sorted=False):
    def numbers(d, draws):
        out = np.empty(len(draws), np.int64)
        at = 0
        for b, (bin_low, bin_high, repeats) in enumerate(bins):
            ordinal = 0
            for times, count in repeats:
                here = (draws >= at) & (draws < at + times * count)
                key = mix_one(d.key + (b + 1) * GOLDEN)
                places = ordinal + (draws[here] - at) // times
                out[here] = bin_low + permuted(places, bin_high - bin_low, key)
                at += times * count
                ordinal += count
        return out

    def draw(d, i):
        total = sum(t * n for _, _, repeats in bins for t, n in repeats)
        runs = (d.numel + run - 1) // run
        r = i // run
        if is_sorted:
            shown = min(total, max(runs, 1))
            listed = np.sort(numbers(d, np.array([scaled(k, total, shown) for k in range(shown)])))
            place = r % shown if runs % shown == 0 else np.array([scaled(k, shown, runs) for k in r])
            return listed[place]
        if runs % total == 0:
            return numbers(d, permuted(r % total, total, d.key))
        return numbers(d, np.array([scaled(k, total, runs) for k in permuted(r, runs, d.key)]))
    return Rule("integer", draw=draw)


def dominant(diagonal, rows):
    def draw(d, i):
        row, column = i // rows % rows, i % rows
        first = i - i % rows - row * rows
        mirrored = first + np.minimum(row, column) * rows + np.maximum(row, column)
        return np.where(row == column, diagonal, diagonal * (to_unit(d.bits(mirrored)) - 0.5) / rows)
    return Rule("real", draw=draw)


def rule_by_shape(dtype, sizes):
    if dtype == torch.bool or not sizes:
        return constant(1.0)
    if not (dtype.is_floating_point or dtype.is_complex):
        return zeros()
    if len(sizes) == 1:
        return normal(0.0, 1 / 64) if sizes[0] > 65536 else uniform(0.5, 1.0)
    kernel = len(sizes) > 2 and all(s <= 11 for s in sizes[2:])
    fan_in = math.prod(max(s, 1) for s in sizes[1:]) if kernel else sizes[-1]
    return normal(0.0, min(max(1 / math.sqrt(max(fan_in, 1)), 1 / 64), 1.0))


class Draws:
    def __init__(self, seed, stream, numel):
        self.key = mix_one(mix_one(seed + GOLDEN) ^ (stream * GOLDEN & MASK))
        self.numel = numel

    def bits(self, elements):
        return mix(np.uint64(self.key) + (elements.astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN))


def without_repeats(tensor):
    for dim in range(tensor.dim()):
        if tensor.stride(dim) == 0 and tensor.size(dim) > 1:
            tensor = tensor.narrow(dim, 0, 1)
    return tensor


def fill(tensor, rule, seed, stream):
    if tensor.numel() == 0 or tensor.is_meta:
        return
    target = without_repeats(tensor)
    dtype = target.dtype
    rule = rule or rule_by_shape(dtype, list(tensor.shape))
    parts = 2 if dtype.is_complex else 1
    with np.errstate(over="ignore"):
        drawn = rule.draw(Draws(seed, stream, target.numel()), np.arange(target.numel() * parts, dtype=np.int64))
    if dtype.is_complex:
        made = torch.view_as_complex(torch.from_numpy(drawn.reshape(-1, 2)).contiguous())
    elif dtype.is_floating_point:
        made = torch.from_numpy(rounded(drawn.astype(np.float64), rule, dtype))
        made = made if dtype == torch.float64 else made.to(torch.float32)
    elif dtype == torch.bool:
        made = torch.from_numpy(drawn != 0)
    else:
        made = torch.from_numpy(np.floor(drawn).astype(np.int64))
    target.copy_(made.to(dtype).reshape(target.shape))


def rounded(values, rule, dtype):
    """Beyond a type's range its largest number; what it holds only as subnormal 0."""
    info = torch.finfo(dtype)
    low, high = -info.max, info.max
    if hasattr(rule, "constant") and math.isinf(rule.constant):
        low = high = rule.constant
    if hasattr(rule, "bounds") and rule.bounds[0] < rule.bounds[1]:
        a, b = rule.bounds
        high = min(high, max(b - max(abs(b) * info.eps, info.tiny), a))
    values = np.minimum(np.maximum(values, low), high)
    return np.where(np.abs(values) < info.tiny, 0.0, values)


# Tensors.

_device = torch.device("cpu")


def device():
    """Where tensors live that the original had on its accelerator, or all if it had none."""
    return _device


def number(value):
    """A number given where a tensor is expected: PyTorch makes one of it that does not promote."""
    return value


def relayout(base, sizes, strides, shift=0):
    """Another layout of a tensor's memory, which the original made outside of any operator."""
    return on_storage(base, base.dtype, sizes, strides, base.storage_offset() + shift)


def relayout_as(base, dtype, sizes, strides, offset):
    return on_storage(base, dtype, sizes, strides, offset)


def on_storage(base, dtype, sizes, strides, offset):
    return torch.empty(0, dtype=dtype, device=base.device).set_(base.untyped_storage(), offset, sizes, strides)


def results(name, members):
    """A class whose objects hold what a function gives, by name."""
    def init(self, *values):
        for member, value in zip(members, values):
            setattr(self, member, value)
    return type(name, (), {"__init__": init})


def contiguous_strides(sizes):
    strides = [1] * len(sizes)
    for dim in range(len(sizes) - 1, 0, -1):
        strides[dim - 1] = strides[dim] * max(sizes[dim], 1)
    return strides


class Maker:
    """Makes tensors and fills them by their rules."""

    def __init__(self, seed):
        self.seed, self.made, self.changed, self.copies, self.varying = seed, [], [], [], []

    def tensor(self, id, dtype, sizes, rule=None, strides=None, offset=0, place=None, size_bytes=0):
        strides = strides or contiguous_strides(sizes)
        extent = 0 if 0 in sizes else 1 + sum((n - 1) * s for n, s in zip(sizes, strides))
        item = torch.empty(0, dtype=dtype).element_size()
        memory = torch.empty(max(size_bytes, (offset + extent) * item if extent else 0), dtype=torch.uint8,
                             device=place or device())
        return self.add(id, on_storage(memory, dtype, sizes, strides, offset), rule)

    def view(self, id, of, dtype, sizes, rule=None, strides=None, offset=0):
        return self.add(id, on_storage(of, dtype, sizes, strides or contiguous_strides(sizes), offset), rule)

    def number(self, id, dtype, rule):
        """A Python number, given as one."""
        made = torch.empty((), dtype=dtype)
        fill(made, rule, self.seed, id)
        return made.item()

    def add(self, id, tensor, rule):
        self.made.append((id, tensor, rule))
        return tensor

    def changes(self, tensors):
        self.changed = tensors

    def varies(self, tensors):
        self.varying = tensors

    def fill_all(self, variant=0, only=None):
        # All of a storage: parts of it that have a rule of their own begin at other addresses.
        wanted = [m for m in self.made if only is None
                  or m[1].untyped_storage().data_ptr() == only.untyped_storage().data_ptr()]
        for id, tensor, rule in reversed(wanted):
            if rule is None:
                fill(tensor, rule, self.seed + variant, id)
        for id, tensor, rule in wanted:
            if rule is not None:
                fill(tensor, rule, self.seed + variant, id)

    def bytes_of(self, tensor):
        return on_storage(tensor, torch.uint8, [tensor.untyped_storage().nbytes()], [1], 0)

    def remember(self):
        self.copies = [self.bytes_of(t).clone() for t in self.changed]
        self.variants = []
        for tensor in self.varying:
            contents = []
            for variant in range(4):
                self.fill_all(variant, tensor)
                contents.append(self.bytes_of(tensor).clone())
            self.fill_all(0, tensor)
            self.variants.append(contents)

    def restore(self):
        for tensor, copy in zip(self.changed, self.copies):
            self.bytes_of(tensor).copy_(copy)

    def vary(self, iteration):
        for tensor, contents in zip(self.varying, self.variants):
            self.bytes_of(tensor).copy_(contents[iteration % 4])


# Checksums of what operators give.

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


class Recorder:
    """Stands in for torch.ops in a step, and notes what each call gives."""

    def __init__(self, target, lines, path=()):
        self._target, self._lines, self._path = target, lines, path

    def __getattr__(self, name):
        return Recorder(getattr(self._target, name), self._lines, self._path + (name,))

    def __call__(self, *args, **kwargs):
        result = self._target(*args, **kwargs)
        space, name, overload = self._path
        full = f"{space}::{name}" + ("" if overload == "default" else f".{overload}")
        # Elements that nobody writes: of fresh memory all, of a CTC loss the paths behind a length.
        fresh = "empty" in full or "resize" in full
        partly = 1 if full.split(".")[0] == "aten::_ctc_loss" else None
        flat = []
        for value in result if isinstance(result, (list, tuple)) else [result]:
            flat += list(value) if isinstance(value, (list, tuple)) else [value]
        flat = [v for v in flat if v is None or isinstance(v, torch.Tensor)] if result is not None else []
        self._lines.append(" ".join([full] + ["fresh" if fresh or i == partly else checksum(v) for i, v in enumerate(flat)]))
        return result


# Ranks.

_groups = []


class Work:
    def __init__(self, handles, copies):
        self.handles, self.copies = handles, copies

    def wait(self):
        for handle in self.handles:
            if handle is not None:
                handle.wait()
        for to, copy in self.copies:
            to.copy_(copy)


def communicate(kind, group, inputs=(), outputs=(), root_or_peer=0, in_splits=(), out_splits=(), reduce="sum"):
    """Starts a collective or a message by torch.distributed."""
    import torch.distributed as dist
    members = _groups[group]
    world = dist.get_world_size(members)
    op = {"sum": dist.ReduceOp.SUM, "avg": dist.ReduceOp.AVG, "product": dist.ReduceOp.PRODUCT,
          "min": dist.ReduceOp.MIN, "max": dist.ReduceOp.MAX, "band": dist.ReduceOp.BAND,
          "bor": dist.ReduceOp.BOR, "bxor": dist.ReduceOp.BXOR}[reduce]
    flat = [t.contiguous() for t in outputs]
    copies = [(t, f) for t, f in zip(outputs, flat) if f is not t]
    inputs = [flat[[o is t for o in outputs].index(True)] if any(o is t for o in outputs) else t.contiguous()
              for t in inputs]
    handles = []
    add = handles.append
    options = {"group": members, "async_op": True}
    peer = dist.get_global_rank(members, root_or_peer) if kind not in ("Barrier",) else 0
    if kind in ("AllReduce", "Broadcast", "Reduce"):
        for i, o in zip(inputs, flat):
            if i is not o:
                o.copy_(i)
            add(dist.all_reduce(o, op=op, **options) if kind == "AllReduce"
                else dist.broadcast(o, peer, **options) if kind == "Broadcast"
                else dist.reduce(o, peer, op=op, **options))
    elif kind == "AllGather":
        for i, tensor in enumerate(inputs):
            add(dist.all_gather(flat[i * world:(i + 1) * world], tensor, **options))
    elif kind == "AllGatherBase":
        for i, o in zip(inputs, flat):
            add(dist.all_gather_into_tensor(o, i.clone(), **options))
    elif kind == "ReduceScatter":
        for i, o in enumerate(flat):
            add(dist.reduce_scatter(o, inputs[i * world:(i + 1) * world], op=op, **options))
    elif kind == "ReduceScatterBase":
        for i, o in zip(inputs, flat):
            add(dist.reduce_scatter_tensor(o, i.clone(), op=op, **options))
    elif kind == "Gather":
        add(dist.gather(inputs[0], flat or None, dst=peer, **options))
    elif kind == "Scatter":
        add(dist.scatter(flat[0], inputs or None, src=peer, **options))
    elif kind in ("AllToAll", "AllToAllV") and len(inputs) == 1:
        width = [t[0].numel() if t.dim() and t.shape[0] else 1 for t in (flat[0], inputs[0])]
        add(dist.all_to_all_single(flat[0], inputs[0], [n // width[0] for n in out_splits] or None,
                                   [n // width[1] for n in in_splits] or None, **options))
    elif kind == "AllToAll":
        add(dist.all_to_all(flat, inputs, **options))
    elif kind == "Send":
        for tensor in inputs:
            add(dist.isend(tensor, peer, members))
    elif kind == "Recv":
        for tensor in flat:
            add(dist.irecv(tensor, peer, members))
    elif kind == "Barrier":
        add(dist.barrier(**options))
    else:
        raise RuntimeError(f"no communication of the kind {kind!r}")
    return Work(handles, copies)


# Flags, warm-up, timing, report.

def arguments(name, ranks):
    parser = argparse.ArgumentParser(
        description=f"{name}, a training step of {ranks} rank{'' if ranks == 1 else 's'}",
        epilog="Exit status: 0 ok, 1 the run failed, 2 a flag or the number of ranks is wrong")
    parser.add_argument("--iterations", type=int, help="measured iterations, at most (20)")
    parser.add_argument("--seconds", type=float, help="seconds of measured iterations, at most (30)")
    parser.add_argument("--warmup", type=int, default=2, help="iterations before the measured ones (2)")
    parser.add_argument("--threads", type=int, default=0, help="threads of an operator; 0: PyTorch's choice")
    parser.add_argument("--seed", type=int, default=0, help="seed of the tensors' content (0)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N (cpu)")
    parser.add_argument("--op-library", action="append", default=[], help="a library with custom operators")
    parser.add_argument("--report", help="write the result to this file, as JSON")
    parser.add_argument("--checksums", help="write a checksum of each operator's results to this file")
    parser.add_argument("--no-restore", action="store_true",
                        help="never give tensors their first content back between iterations")
    given = parser.parse_args()
    if given.iterations is None and given.seconds is None:
        given.iterations, given.seconds = 20, 30.0
    return given


def synchronize():
    if device().type == "cuda":
        torch.cuda.synchronize()


class Runner:
    def __init__(self, name, steps, given, rank, ranks):
        self.name, self.given, self.rank, self.ranks = name, given, rank, ranks
        self.step, self.maker = steps[rank](), Maker(given.seed)
        self.module = sys.modules[type(self.step).__module__]
        self.since_restore = self.iteration = 0

    def most(self, value):
        if self.ranks == 1:
            return value
        import torch.distributed as dist
        tensor = torch.tensor([float(value)], dtype=torch.float64)
        dist.all_reduce(tensor, op=dist.ReduceOp.MAX)
        return tensor.item()

    def timed(self):
        self.most(0)
        begin = time.perf_counter()
        self.step.run()
        synchronize()
        return (time.perf_counter() - begin) * 1000

    def next_iteration(self):
        if self.every and self.since_restore == self.every:
            self.maker.restore()
            self.since_restore = 0
        self.since_restore += 1
        self.maker.vary(self.iteration)
        self.iteration += 1
        return self.timed()

    def write_checksums(self):
        lines = []
        torch.manual_seed(self.given.seed)
        ops, self.module.ops = self.module.ops, Recorder(torch.ops, lines)
        self.step.run()
        self.module.ops = ops
        lines += ["after: " + checksum(t) for t in self.maker.changed]
        path = self.given.checksums + ("" if self.ranks == 1 else f".{self.rank}")
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))
        self.maker.restore()

    def find_restore_interval(self):
        """Steps that learn from one batch for ever drift: after how many is the content given back?"""
        self.every = 0
        if self.given.no_restore:
            return
        self.every, begin = 1, time.perf_counter()
        for n in range(1, 17):
            self.step.run()
            floats = [t for t in self.maker.changed if t.is_floating_point()]
            if self.most(not all(torch.isfinite(t).all() for t in floats)):
                break
            self.every = n
            if self.most(time.perf_counter() - begin > 1):
                break
        self.maker.restore()

    def run(self):
        self.step.make(self.maker)
        self.maker.fill_all()
        torch.manual_seed(self.given.seed)
        first = self.timed()
        self.maker.fill_all()
        self.maker.remember()
        if self.given.checksums:
            self.write_checksums()
        self.find_restore_interval()
        for _ in range(self.given.warmup):
            self.next_iteration()
        samples = []
        while not samples or not self.most(
                (self.given.iterations is not None and len(samples) >= self.given.iterations)
                or (self.given.seconds is not None and sum(samples) >= 1000 * self.given.seconds)):
            samples.append(self.most(self.next_iteration()))
        if self.rank == 0:
            self.report(samples, first)

    def report(self, samples, first):
        median = statistics.median(samples)
        print(f"{self.name}: {median:.3f} ms an iteration (median of {len(samples)}; {min(samples):.3f} to "
              f"{max(samples):.3f}), {torch.get_num_threads()} threads, {self.ranks} ranks")
        if self.given.report:
            with open(self.given.report, "w", encoding="utf-8") as file:
                json.dump({"format": "emitted-benchmark-report", "version": 1, "name": self.name,
                           "ranks": self.ranks, "threads": torch.get_num_threads(), "seed": self.given.seed,
                           "warmup": self.given.warmup, "restore_every": self.every,
                           "first_iteration_ms": first, "device": str(device()), "torch": torch.__version__,
                           "iteration_ms": {"count": len(samples), "min": min(samples), "median": median,
                                            "max": max(samples), "samples": samples}}, file)


def run(name, steps, groups):
    global _device
    given = arguments(name, len(steps))
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if ranks != len(steps):
        print(f"bench: this benchmark has {len(steps)} ranks, {ranks} were started: "
              f"torchrun --nproc-per-node {len(steps)} main.py", file=sys.stderr)
        sys.exit(2)
    for library in given.op_library:
        torch.ops.load_library(library)
    _device = torch.device(given.device)
    if given.threads:
        torch.set_num_threads(given.threads)
    rank = int(os.environ.get("RANK", "0"))
    if ranks > 1:
        import torch.distributed as dist
        dist.init_process_group("nccl" if _device.type == "cuda" else "gloo")
        _groups.extend(dist.new_group(members or list(range(ranks))) for members in groups)
    # The backward operators are in the step.
    below_autograd = torch._C._AutoDispatchBelowAutograd()
    Runner(name, steps, given, rank, ranks).run()
    del below_autograd
    if ranks > 1:
        dist.destroy_process_group()
