"""A step of Llama 3 405B in plain torch: tensor and sequence parallelism, 1F1B pipeline, an optimizer divided among data-parallel ranks.

    understudy capture --as B200 --world-size 1024 --all-kinds -o llama llama3_405b.py 8 8
    understudy generate llama --world-size 1024 -o llama.et && understudy predict llama.et --card B200

Its arguments are the sizes of tensor and pipeline parallelism; other ranks are data-parallel.
"""

import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

import understudy

WIDTH, INNER, HEAD, HEADS, KEYS, LAYERS, WORDS, LENGTH = 16384, 53248, 128, 128, 8, 126, 128256, 8192
PARTS, STAGES = map(int, sys.argv[1:3])
BATCHES = STAGES  # micro-batches of one sequence


class Gather(torch.autograd.Function):
    """Each rank's rows of a sequence become all rows; its gradient is summed, and each rank takes its rows."""

    @staticmethod
    def forward(_, rows):
        return gather(rows)

    @staticmethod
    def backward(_, gradient):
        return scatter(gradient)


class Scatter(torch.autograd.Function):
    @staticmethod
    def forward(_, parts):
        return scatter(parts)

    @staticmethod
    def backward(_, gradient):
        return gather(gradient)


def gather(rows):
    whole = rows.new_empty(len(rows) * PARTS, rows.shape[1])
    dist.all_gather_into_tensor(whole, rows.contiguous(), group=tensor)
    return whole


def scatter(parts):
    rows = parts.new_empty(len(parts) // PARTS, parts.shape[1])
    dist.reduce_scatter_tensor(rows, parts.contiguous(), group=tensor)
    return rows


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.heads = nn.Linear(WIDTH, (HEADS + 2 * KEYS) * HEAD // PARTS, bias=False)
        self.out = nn.Linear(HEADS * HEAD // PARTS, WIDTH, bias=False)
        self.up, self.down = nn.Linear(WIDTH, 2 * INNER // PARTS, bias=False), nn.Linear(INNER // PARTS, WIDTH, bias=False)

    def forward(self, x):
        heads = self.heads(Gather.apply(self.before(x))).view(1, LENGTH, -1, HEAD).transpose(1, 2)
        turned, value = heads.split([(HEADS + KEYS) // PARTS, KEYS // PARTS], 1)
        real, imaginary = turned.chunk(2, -1)
        turned = torch.cat([real * cosine - imaginary * sine, real * sine + imaginary * cosine], -1)
        query, key = turned.split([HEADS // PARTS, KEYS // PARTS], 1)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
        x = x + Scatter.apply(self.out(mixed.transpose(1, 2).reshape(LENGTH, -1)))
        gate, up = self.up(Gather.apply(self.between(x))).chunk(2, -1)
        return x + Scatter.apply(self.down(F.silu(gate) * up))


class Stage(nn.Module):
    """The layers of one pipeline stage; the first has the embedding, the last the output. Both are divided by words among tensor's ranks."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS // PARTS, WIDTH) if is_first else None
        self.layers = nn.Sequential(*(Block() for _ in range(LAYERS * stage // STAGES, LAYERS * (stage + 1) // STAGES)))
        self.norm, self.head = (nn.RMSNorm(WIDTH), nn.Linear(WIDTH, WORDS // PARTS, bias=False)) if is_last else (None, None)

    def forward(self, x):
        if is_first:
            other = x[0] >= WORDS // PARTS
            x = Scatter.apply(self.words(x[0].masked_fill(other, 0)).masked_fill(other[:, None], 0))
        x = self.layers(x)
        return self.head(Gather.apply(self.norm(x))) if is_last else x


def loss_of(logits, targets):
    """Cross entropy of logits that are divided by words."""
    most = logits.detach().amax(1)
    dist.all_reduce(most, op=dist.ReduceOp.MAX, group=tensor)
    shifted = logits.float() - most[:, None]
    rows = torch.stack([shifted.exp().sum(1), shifted.gather(1, targets[0, :, None] % (WORDS // PARTS))[:, 0]], 1)
    sums = Scatter.apply(rows.repeat(PARTS, 1))
    return (sums[:, 0].log() - sums[:, 1]).mean()


class Optimizer:
    """Sums gradients in float32 in one buffer, of which each data-parallel rank has a part to step with (ZeRO-1)."""

    def __init__(self, model):
        parameters, ranks = list(model.parameters()), data.size()
        size = -(-sum(each.numel() for each in parameters) // ranks) * ranks
        self.whole, self.sums = torch.zeros(size, dtype=torch.bfloat16, device=device), torch.zeros(size, device=device)
        at = 0
        for each in parameters:
            each.data = self.whole[at:at + each.numel()].view_as(each)
            each.sum = self.sums[at:at + each.numel()].view_as(each)
            each.register_post_accumulate_grad_hook(self.add)
            at += each.numel()
        self.norms = [each.sum for name, each in model.named_parameters() if each.dim() == 1]
        self.part = nn.Parameter(torch.zeros(size // ranks, device=device))
        self.adam = torch.optim.AdamW([self.part], lr=8e-5, fused=True)

    @staticmethod
    def add(parameter):
        parameter.sum += parameter.grad
        parameter.grad = None

    def step(self):
        norms = torch.cat(self.norms)  # of rows of the sequence
        dist.all_reduce(norms, group=tensor)
        for each, summed in zip(self.norms, norms.split(WIDTH)):
            each.copy_(summed)
        self.part.grad = torch.empty_like(self.part)
        dist.reduce_scatter_tensor(self.part.grad, self.sums, op=dist.ReduceOp.AVG, group=data)
        nn.utils.clip_grad_norm_([self.part], 1.0)
        self.adam.step()
        dist.all_gather_into_tensor(self.whole, self.part.detach().bfloat16(), group=data)
        self.sums.zero_()


dist.init_process_group("nccl")
device = torch.device("cuda", torch.cuda.current_device())
mesh = init_device_mesh("cuda", (STAGES, dist.get_world_size() // STAGES // PARTS, PARTS), mesh_dim_names=("stage", "data", "tensor"))
stage, data, tensor = mesh.get_local_rank("stage"), mesh.get_group("data"), mesh.get_group("tensor")
is_first, is_last = stage == 0, stage == STAGES - 1
torch.set_default_dtype(torch.bfloat16)
with device:
    sine, cosine = torch.rand(2, LENGTH, HEAD // 2).unbind()
    model = Stage()
    tokens = torch.randint(0, WORDS, (BATCHES, LENGTH + 1))
    example = torch.empty(LENGTH // PARTS, WIDTH, requires_grad=True)
    result = torch.empty(LENGTH, WORDS // PARTS, requires_grad=True) if is_last else example
torch.set_default_dtype(torch.float32)
optimizer = Optimizer(model)
made = PipelineStage(model, stage, STAGES, device, tokens[:1, :-1] if is_first else example, result, group=mesh.get_group("stage"))
schedule = Schedule1F1B(made, BATCHES, loss_fn=loss_of)
for _ in range(9):
    schedule.step(*([tokens[:, :-1]] if is_first else []), **({"target": tokens[:, 1:]} if is_last else {}))
    optimizer.step()
    understudy.step()
