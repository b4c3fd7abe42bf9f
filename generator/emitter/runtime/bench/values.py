"""The content of tensors: rules, each a function of the elements' numbers."""

import math

import torch

from .random import GOLDEN, Draws, mix, mix_one, permuted, signed, to_range, to_unit


class Rule:
    def __init__(self, draw, **values):
        self.draw = draw
        self.__dict__.update(values)


def zeros(): return Rule(lambda d, i: torch.zeros_like(i))
def constant(value): return Rule(lambda d, i: torch.full_like(i, value, dtype=torch.float64), constant=value)
def uniform(low, high):
    return Rule(lambda d, i: low + (high - low) * to_unit(d.bits(i)), bounds=(low, high))


def normal(mean, deviation):
    def draw(d, i):
        bits = d.bits(i)
        total = sum((bits >> s) & 0xFFFF for s in (0, 16, 32, 48))
        return mean + deviation * ((2 * total - 4 * 65535).double() * (1 / 75674.46))
    return Rule(draw)


def integers(low, high, distinct=0):
    def draw(d, i):
        width = high - low
        if distinct <= 0:
            return low + to_range(d.bits(i), width)
        few = min(int(distinct), width, max(d.numel, 1))
        place = permuted(i, d.numel, d.key)
        return low + torch.where(place < few, place, to_range(d.bits(i), few)) * (width // few)
    return Rule(draw)


def boundary(d, first, i, count, total, longest=0):
    """Returns boundary i of `count` random pieces of [0, total], none longer than `longest` if the mean allows it."""
    if i <= 0 or i >= count:
        return 0 if i <= 0 else total
    low = i * total // count
    room = (i + 1) * total // count - low
    if longest > 0:
        room = min(max(longest - (total + count - 1) // count, 0), room)
    return low + int(to_range(d.bits(torch.tensor([first + i])), room + 1))


def offsets(high, include_last, longest=0):
    def draw(d, i):
        count = d.numel - 1 if include_last else d.numel
        return torch.tensor([boundary(d, 0, e, count, high, longest) for e in i.tolist()], dtype=torch.int64)
    return Rule(draw)


def lengths(segments):
    def draw(d, i):
        out, start = [], 0
        for count, total in segments:
            ends = [boundary(d, start, k, count, total) for k in range(count + 1)]
            out += [b - a for a, b in zip(ends, ends[1:])]
            start += count
        return torch.tensor(out, dtype=torch.int64)
    return Rule(draw)


def arange(first, step): return Rule(lambda d, i: first + i * step)
def bernoulli(p): return Rule(lambda d, i: (to_unit(d.bits(i)) < p).long())
def mask(count): return Rule(lambda d, i: (permuted(i, d.numel, d.key) < count).long())


def targets(classes, ignored, p):
    def draw(d, i):
        bits = d.bits(i)
        return torch.where(to_unit(bits) < p, ignored, to_range(mix(bits + signed(GOLDEN)), classes))
    return Rule(draw)


def reuse(low, high, bins, run=1, is_sorted=False):
    def numbers(d, draws):
        out = torch.empty_like(draws)
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
            listed = numbers(d, torch.arange(shown) * total // shown).sort().values
            return listed[r % shown if runs % shown == 0 else r * shown // runs]
        if runs % total == 0:
            return numbers(d, permuted(r % total, total, d.key))
        return numbers(d, permuted(r, runs, d.key) * total // runs)
    return Rule(draw)


def dominant(diagonal, rows):
    def draw(d, i):
        row, column = i // rows % rows, i % rows
        first = i - i % rows - row * rows
        mirrored = first + torch.minimum(row, column) * rows + torch.maximum(row, column)
        return torch.where(row == column, diagonal, diagonal * (to_unit(d.bits(mirrored)) - 0.5) / rows)
    return Rule(draw)


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
    made = rule.draw(Draws(seed, stream, target.numel()), torch.arange(target.numel() * parts))
    if dtype.is_complex:
        made = torch.view_as_complex(made.double().reshape(-1, 2))
    elif dtype.is_floating_point:
        made = rounded(made.double(), rule, dtype)
        made = made if dtype == torch.float64 else made.float()
    else:
        made = made != 0 if dtype == torch.bool else made.floor().long()
    target.copy_(made.to(dtype).reshape(target.shape))


def rounded(values, rule, dtype):
    """Clamps to the type's largest number, and rounds subnormal numbers to 0."""
    if dtype == getattr(torch, "float8_e8m0fnu", None):  # powers of two only, without zero and negative numbers
        return values.abs().clamp(min=2.0 ** -126)
    info = torch.finfo(dtype)
    low, high = -info.max, info.max
    if hasattr(rule, "constant") and math.isinf(rule.constant):
        low = high = rule.constant
    if hasattr(rule, "bounds") and rule.bounds[0] < rule.bounds[1]:
        a, b = rule.bounds
        high = min(high, max(b - max(abs(b) * info.eps, info.tiny), a))
    values = values.clamp(low, high)
    return torch.where(values.abs() < info.tiny, 0.0, values)
