#!/usr/bin/env python3
"""Captures a compiled training step on the played card: gpu_steps.py NAME FOLDER

With the library of tests/unit/replayer/timed_card.h preloaded, inductor compiles for an H100 and
launches as on one. The kernels are whole, their results are not: the card computes nothing.
"""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import nn

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in
                ("capture", "fleet_samples/programs", "tests/gpu/programs")]
import understudy  # noqa: E402
from against_eager import described, shifted, tuned  # noqa: E402

BUILDERS = {}


def builder(function):
    BUILDERS[function.__name__] = function
    return function


def train(model, loss_of, optimizer):
    """A step of a compiled model under autocast, whose optimizer is compiled too."""
    update = torch.compile(optimizer.step)

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = loss_of()
        loss.backward()
        update()
    return step


@builder
def gpt():
    import gpt as sample
    sample.LAYERS, sample.WIDTH, sample.VOCABULARY = 2, 128, 1024
    model = sample.Gpt()
    forward = torch.compile(model)
    tokens = torch.randint(0, sample.VOCABULARY, (sample.BATCH, sample.CONTEXT + 1))

    def loss():
        logits = forward(tokens[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    return train(model, loss, torch.optim.AdamW(model.parameters(), lr=1e-3))


@builder
def resnet():
    import resnet18 as sample
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
                          sample.Block(16, 16, 1), sample.Block(16, 32, 2), nn.AdaptiveAvgPool2d(1),
                          nn.Flatten(), nn.Linear(32, 10))
    forward = torch.compile(model)
    images, target = torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))
    return train(model, lambda: F.cross_entropy(forward(images), target),
                 torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9))


@triton.jit
def product(a_ptr, b_ptr, c_ptr, WIDTH: tl.constexpr):
    row, column = tl.arange(0, WIDTH)[:, None], tl.arange(0, WIDTH)[None, :]
    at = row * WIDTH + column
    tl.store(c_ptr + at, tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at)))


@builder
def handwritten():
    """Every way in which a kernel of the user's own is launched: in a graph and outside of one."""
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    x, mask, matrix = torch.randn(1000), torch.ones(1000), torch.randn(64, 64)

    @torch.compile
    def in_graph(x):
        y, z = torch.empty_like(x), torch.empty_like(x)
        shifted[(4,)](x + 1, y, None, 1000, 1, 0.5, BLOCK=256, SHIFT=3)
        tuned[lambda given: (triton.cdiv(1000, given["BLOCK"]),)](y, z, mask, 1000, 2, 0.25, SHIFT=1)
        return z.relu()

    def step():
        y, c = in_graph(x), torch.empty_like(matrix)
        z = torch.empty_like(y)
        tuned[lambda given: (triton.cdiv(1000, given["BLOCK"]),)](y, z, None, 1000, 1, 1.5, SHIFT=0)
        shifted[(8,)](z, y, mask, 1000, 7, 0.5, BLOCK=128, SHIFT=0, num_ctas=2)
        product[(1,)](matrix, matrix, c, WIDTH=64, num_warps=8, launch_pdl=True)
        described[(4,)](c, matrix, SIDE=64, launch_cooperative_grid=True)
    return step


if __name__ == "__main__":
    name, folder = sys.argv[1:]
    from torch._inductor.runtime import triton_heuristics
    # Times of the played card choose nothing.
    triton_heuristics.CachingAutotuner.benchmark_all_configs = lambda tuner, *_, **__: {
        launcher: i for i, launcher in enumerate(tuner.launchers)}
    torch.manual_seed(1)
    torch.backends.cudnn.enabled = False  # cuDNN looks for a driver that is not played
    torch.backends.cuda.enable_cudnn_sdp(False)
    with torch.device("cuda"):
        one_step = BUILDERS[name]()
    understudy.capture_step(one_step, folder, warmup=3, timed=1, profiled=1, steady_s=0, indices=False,
                                    tensor_range=False)
