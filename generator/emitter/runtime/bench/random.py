"""Random numbers: pure functions of (seed, tensor, element), identical on all platforms."""

import numpy as np

GOLDEN = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def mix(x):
    """Applies the finaliser of SplitMix64 to an array of uint64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def mix_one(x):
    return int(mix(np.array([x & MASK], dtype=np.uint64))[0])


def to_unit(bits):
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0 ** -53


def to_range(bits, width):
    """Returns the upper half of bits * width, which is in [0, width)."""
    width = int(width)
    low, high = np.uint64(width & 0xFFFFFFFF), np.uint64(width >> 32)
    a, b = bits & np.uint64(0xFFFFFFFF), bits >> np.uint64(32)
    middle = b * low + ((a * low) >> np.uint64(32))
    middle2 = a * high + (middle & np.uint64(0xFFFFFFFF))
    return (b * high + (middle >> np.uint64(32)) + (middle2 >> np.uint64(32))).astype(np.int64)


def permuted(positions, count, key):
    """Returns the images of positions under a random permutation of [0, count)."""
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


class Draws:
    def __init__(self, seed, stream, numel):
        self.key = mix_one(mix_one(seed + GOLDEN) ^ (stream * GOLDEN & MASK))
        self.numel = numel

    def bits(self, elements):
        return mix(np.uint64(self.key) + (elements.astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN))
