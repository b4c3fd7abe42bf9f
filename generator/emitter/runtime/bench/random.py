"""Random numbers: pure functions of (seed, tensor, element), identical on all platforms. PyTorch has few operators for uint64, so int64
stands for it: sums and products wrap around, and shifts to the right clear the sign."""

import torch

GOLDEN = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def signed(x):
    """Returns the int64 with the bits of a uint64."""
    x &= MASK
    return x - (1 << 64) if x >> 63 else x


def shifted(x, count):
    """Shifts a tensor of uint64 to the right."""
    return (x >> count) & (MASK >> count)


def mix(x):
    """Applies the finaliser of SplitMix64 to a tensor of uint64."""
    x = (x ^ shifted(x, 30)) * signed(0xBF58476D1CE4E5B9)
    x = (x ^ shifted(x, 27)) * signed(0x94D049BB133111EB)
    return x ^ shifted(x, 31)


def mix_one(x):
    return int(mix(torch.tensor([signed(x)]))) & MASK


def to_unit(bits):
    return shifted(bits, 11).double() * 2.0 ** -53


def to_range(bits, width):
    """Returns the upper half of bits * width, which is in [0, width)."""
    low, high = int(width) & 0xFFFFFFFF, int(width) >> 32
    a, b = bits & 0xFFFFFFFF, shifted(bits, 32)
    middle = b * low + shifted(a * low, 32)
    middle2 = a * high + (middle & 0xFFFFFFFF)
    return b * high + shifted(middle, 32) + shifted(middle2, 32)


def permuted(positions, count, key):
    """Returns the images of positions under a random permutation of [0, count)."""
    half = max(1, (count.bit_length() + 1) // 2)
    mask = (1 << half) - 1
    value = positions.clone()
    open_ = torch.ones_like(value, dtype=torch.bool)
    while open_.any():
        v = value[open_]
        left, right = v >> half, v & mask
        for r in range(4):
            left, right = right, left ^ (mix(right + signed(key + (r + 1) * GOLDEN)) & mask)
        value[open_] = (left << half) | right
        open_ = value >= count
    return value


class Draws:
    def __init__(self, seed, stream, numel):
        self.key = mix_one(mix_one(seed + GOLDEN) ^ (stream * GOLDEN & MASK))
        self.numel = numel

    def bits(self, elements):
        return mix((elements + 1) * signed(GOLDEN) + signed(self.key))
