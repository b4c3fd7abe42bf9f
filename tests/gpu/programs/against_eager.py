"""Computes the same by kernels of Triton and operator by operator; each step ends with one any() a pair,
which is true where the two differ. Before those are one that is false and one that is true. The kernels
are inductor's and hand-written ones, or, if UNDERSTUDY_LAUNCH is `special`, those launched in a special way."""

import os
import sys
from pathlib import Path

import torch
import triton
import triton.language as tl
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "fleet_samples" / "programs"))
import common  # noqa: E402

ROWS, WIDTH, SIDE = 1000, 512, 64
TOLERANCE = 1e-4


@triton.jit
def shifted(x_ptr, y_ptr, mask_ptr, n, one, scale, BLOCK: tl.constexpr, SHIFT: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    if mask_ptr is not None:
        x *= tl.load(mask_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * scale + one + SHIFT, mask=i < n)


tuned = triton.autotune([triton.Config({"BLOCK": 128}, num_warps=2),
                         triton.Config({"BLOCK": 256}, num_warps=4)], key=["n"])(shifted)


@triton.jit
def product(a_ptr, b_ptr, c_ptr, SIDE: tl.constexpr):
    at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
    tl.store(c_ptr + at, tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at), input_precision="ieee"))


@triton.jit
def described(x_ptr, y_ptr, SIDE: tl.constexpr):
    """Makes its descriptors in memory that the launch allocates."""
    x = tl.make_tensor_descriptor(x_ptr, [SIDE, SIDE], [SIDE, 1], [16, SIDE])
    y = tl.make_tensor_descriptor(y_ptr, [SIDE, SIDE], [SIDE, 1], [16, SIDE])
    y.store([tl.program_id(0) * 16, 0], x.load([tl.program_id(0) * 16, 0]) * 2)


def number(value):
    """A trace records torch.full's arguments, but not the numbers that Python passes to operators."""
    return torch.full((), value)


def differs(got, wanted):
    return torch.isclose(got, wanted, rtol=TOLERANCE, atol=TOLERANCE).logical_not().any()


def update(parameter, gradient, mean, square):
    """Runs a step of Adam, in place."""
    mean.lerp_(gradient, 0.1)
    square.addcmul_(gradient, gradient, value=0.01)
    parameter.addcdiv_(mean, square.sqrt(), value=-0.01)
    return parameter


def usual():
    model = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))
    compiled, compiled_update = torch.compile(model), torch.compile(update)
    x, mask = torch.randn(ROWS, WIDTH), torch.rand(ROWS * WIDTH)
    matrix = torch.randn(SIDE, SIDE)
    states = [torch.rand(WIDTH, WIDTH) for _ in range(4)]
    n = ROWS * WIDTH

    def blocks(given):
        return (triton.cdiv(n, given["BLOCK"]),)

    def step():
        pairs = []
        outputs = [(forward(x).softmax(-1), list(model.parameters())) for forward in (compiled, model)]
        pairs.append(tuple(output for output, _ in outputs))
        pairs += zip(*(torch.autograd.grad((output * x).sum(), parameters) for output, parameters in outputs))
        pairs.append(tuple(change(*(state.clone() for state in states)) for change in (compiled_update, update)))
        y, z, c = torch.empty_like(x), torch.empty_like(x), torch.empty_like(matrix)
        shifted[blocks](x, y, None, n, 1, 0.5, BLOCK=512, SHIFT=3)
        tuned[blocks](x, z, mask, n, 2, 0.25, SHIFT=1)
        product[(1,)](matrix, matrix, c, SIDE=SIDE, num_warps=8)
        pairs += [(y, x * number(0.5) + number(4)), (z, x * mask.view_as(x) * number(0.25) + number(3)), (c, matrix @ matrix)]
        return pairs
    return step


def special():
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    x, matrix = torch.randn(1000), torch.randn(SIDE, SIDE)

    def step():
        clusters, dependent = torch.empty_like(x), torch.empty_like(x)
        cooperative = torch.empty_like(matrix)
        shifted[(8,)](x, clusters, None, 1000, 7, 0.5, BLOCK=128, SHIFT=0, num_ctas=2)
        shifted[(8,)](x, dependent, None, 1000, 1, 1.5, BLOCK=128, SHIFT=0, launch_pdl=True)
        described[(4,)](matrix, cooperative, SIDE=SIDE, launch_cooperative_grid=True)
        return [(clusters, x * number(0.5) + number(7)), (dependent, x * number(1.5) + number(1)), (cooperative, matrix * number(2))]
    return step


def build():
    torch.backends.cuda.matmul.allow_tf32 = False
    pairs = special() if os.environ.get("UNDERSTUDY_LAUNCH") == "special" else usual()
    numbers = torch.randn(1)

    def step():
        return [differs(numbers, numbers), differs(numbers, numbers + number(1))] + [differs(*pair) for pair in pairs()]
    return step


if __name__ == "__main__":
    common.run(build, __doc__)
