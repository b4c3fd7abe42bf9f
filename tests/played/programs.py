"""Steps to run on real ranks, on one rank under torch's fake group, and to capture without running: programs.py NAME DEVICE [fake]."""

import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed import _functional_collectives as functional
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleInterleaved1F1B
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.testing._internal.distributed.fake_pg import FakeStore

import understudy

WIDTH, WORDS = 256, 512
RANKS = {"alone": 1, "data": 2, "fsdp": 2, "tensor": 2, "interleaved": 2, "experts": 2, "mix": 4, "data_stages": 4, "tensor_stages": 4}


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x):
        heads = [each(x).unflatten(-1, (-1, 32)).transpose(1, 2) for each in (self.query, self.key, self.value)]
        x = x + self.out(F.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.layers, self.head = nn.Embedding(WORDS, WIDTH), nn.ModuleList(Block() for _ in range(2)), nn.Linear(WIDTH, WORDS)

    def forward(self, tokens):
        x = self.words(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def batch():
    tokens = torch.randint(0, WORDS, (4, 65), device=device)
    return tokens[:, :-1], tokens[:, 1:]


def training(model, optimizer=torch.optim.AdamW, clip=False, parts=1):
    optimizer = optimizer(model.parameters(), lr=1e-3, foreach=False)  # as on a CPU, and of tensors of two classes

    def step():
        for part in range(parts):
            if parts > 1:
                model.require_backward_grad_sync = part == parts - 1
            tokens, targets = batch()
            loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.reshape(-1))
            loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        print(f"{loss.item():.3f}")
    return step


def alone():
    return training(Model().to(device))


def data():
    return training(nn.parallel.DistributedDataParallel(Model().to(device), bucket_cap_mb=1), parts=2)


def fsdp():
    model, mesh = Model().to(device), init_device_mesh(device.type, (ranks,))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    return training(fully_shard(model, mesh=mesh), clip=True)


def tensor():
    model, mesh = Model().to(device), init_device_mesh(device.type, (ranks,))
    rows = dict.fromkeys(("out", "down"), RowwiseParallel())
    for layer in model.layers:
        parallelize_module(layer, mesh, dict.fromkeys(("query", "key", "value", "up"), ColwiseParallel()) | rows)
    return training(model)


def scheduled(schedule, made, place, places):
    run = schedule(made if len(made) > 1 else made[0], n_microbatches=2 * places, loss_fn=F.mse_loss)
    optimizer = torch.optim.SGD([each for stage in made for each in stage.submod.parameters()], lr=0.1, foreach=False)

    def step():
        x = torch.randn(4 * places, 64, WIDTH, device=device)
        run.step(*([x] if place == 0 else []), **({"target": x} if place == places - 1 else {}))
        optimizer.step()
        optimizer.zero_grad()
    return step


def interleaved():
    example = torch.zeros(2, 64, WIDTH, device=device, requires_grad=True)
    made = [PipelineStage(Block().to(device), number, 2 * ranks, device, (example,), (example,)) for number in (rank, rank + ranks)]
    return scheduled(ScheduleInterleaved1F1B, made, rank, ranks)


def stages(across):
    """A pipeline of two stages, each on ranks `across` which the batch or the layer is divided."""
    mesh = init_device_mesh(device.type, (2, ranks // 2), mesh_dim_names=("stages", across))
    block, example = Block().to(device), torch.zeros(2, 64, WIDTH, device=device, requires_grad=True)
    if across == "data":
        block = fully_shard(block, mesh=mesh["data"])
    else:
        parallelize_module(block, mesh["tensor"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
    number, group = mesh["stages"].get_local_rank(), mesh["stages"].get_group()
    return scheduled(Schedule1F1B, [PipelineStage(block, number, 2, device, (example,), (example,), group=group)], number, 2)


def data_stages():
    return stages("data")


def tensor_stages():
    return stages("tensor")


def experts():
    expert = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.ReLU(), nn.Linear(4 * WIDTH, WIDTH)).to(device)
    optimizer, rows = torch.optim.SGD(expert.parameters(), lr=0.1), [64] * ranks

    def step():
        sent = torch.randn(sum(rows), WIDTH, device=device, requires_grad=True)
        received = functional.all_to_all_single_autograd(sent, rows, rows, dist.group.WORLD)
        functional.all_to_all_single_autograd(expert(received), rows, rows, dist.group.WORLD).square().mean().backward()
        total = torch.ones(1, device=device)
        dist.all_reduce(total, op=dist.ReduceOp.MAX)
        optimizer.step()
        optimizer.zero_grad()
    return step


def mix():
    mesh = init_device_mesh(device.type, (ranks // 2, 2), mesh_dim_names=("data", "tensor"))
    model = Model().to(device)
    plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
    for layer in model.layers:
        parallelize_module(layer, mesh["tensor"], plan)
        fully_shard(layer, mesh=mesh["data"], mp_policy=MixedPrecisionPolicy(reduce_dtype=torch.float32))
    return training(fully_shard(model, mesh=mesh["data"]))


device, rank, ranks = torch.device(sys.argv[2]), int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
if sys.argv[3:] == ["fake"]:
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=ranks)
elif ranks > 1:
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    if device.type == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
torch.manual_seed(0)
one_step = globals()[sys.argv[1]]()
for _ in range(12):
    one_step()
    understudy.step()
