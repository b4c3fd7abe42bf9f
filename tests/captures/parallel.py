"""Ways of dividing a model's step among two ranks; make_captures.py records them in NCCL form.

torchrun --nproc-per-node 2 parallel.py NAME [--steps N] trains, to be captured or timed (--width and --tokens for more to
compute); --count prints what communication a step of rank 0 issues, by the dispatcher's operators.
"""

import argparse
import collections
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.utils._python_dispatch import TorchDispatchMode

WIDTH, TOKENS = 32, 16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


def mesh():
    return init_device_mesh("cpu", (dist.get_world_size(),))


def training(model):
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    x, target = torch.randn(TOKENS, WIDTH), torch.randn(TOKENS, WIDTH)

    def step():
        optimizer.zero_grad()
        F.mse_loss(model(x), target).backward()
        optimizer.step()

    return step


def fsdp2():
    """fully_shard by layer, parameters gathered in bfloat16."""
    model = nn.Sequential(*(Block() for _ in range(2)))
    policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32, torch.float32)
    for block in model:
        fully_shard(block, mesh=mesh(), mp_policy=policy)
    return training(fully_shard(model, mesh=mesh(), mp_policy=policy))


def clipped(model, optimizer):
    """Trains with gradients whose norm is limited."""
    x, target = torch.randn(TOKENS, WIDTH), torch.randn(TOKENS, WIDTH)

    def step():
        optimizer.zero_grad()
        F.mse_loss(model(x), target).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def hybrid_sharded():
    """Parameters sharded in a group whose like there could be more of (HSDP), AdamW on all parts at once."""
    both = init_device_mesh("cpu", (1, dist.get_world_size()), mesh_dim_names=("dp_replicate", "dp_shard"))
    model = nn.Sequential(*(Block() for _ in range(2)))
    for block in model:
        fully_shard(block, mesh=both)
    fully_shard(model, mesh=both)
    return clipped(model, torch.optim.AdamW(model.parameters(), 1e-3, foreach=True))


def zero():
    """Gradients and the optimizer's state sharded, flat, as DeepSpeed does (ZeRO-2); parameters gathered where they lie."""
    rank, world = dist.get_rank(), dist.get_world_size()
    model = nn.Sequential(*(Block() for _ in range(2)))
    parameters = list(model.parameters())
    flat = torch.cat([parameter.detach().flatten() for parameter in parameters])
    for parameter, whole in zip(parameters, flat.split([p.numel() for p in parameters])):
        parameter.data = whole.view_as(parameter)
    own = flat.chunk(world)[rank]
    master = own.clone().requires_grad_()
    optimizer = torch.optim.AdamW([master], 1e-3)
    x, target = torch.randn(TOKENS, WIDTH), torch.randn(TOKENS, WIDTH)

    def step():
        for parameter in parameters:
            parameter.grad = None
        F.mse_loss(model(x), target).backward()
        master.grad = torch.empty_like(master)
        dist.reduce_scatter_tensor(master.grad, torch.cat([p.grad.flatten() for p in parameters]))
        squares = (master.grad.div_(world) ** 2).sum()
        dist.all_reduce(squares)
        master.grad.mul_((1 / squares.sqrt()).clamp(max=1))
        optimizer.step()
        with torch.no_grad():
            own.copy_(master)
            dist.all_gather_into_tensor(flat, own)

    return step


def tensor_parallel():
    """Columns, then rows."""
    model = nn.Sequential(*(Block() for _ in range(2)))
    for block in model:
        parallelize_module(block, mesh(), {"up": ColwiseParallel(), "down": RowwiseParallel()})
    return training(model)


def tensor_data_parallel():
    """The same beside data parallel of one rank: gradients summed block by block."""
    both = init_device_mesh("cpu", (1, dist.get_world_size()), mesh_dim_names=("dp", "tp"))
    model = nn.Sequential(*(Block() for _ in range(2)))
    for block in model:
        parallelize_module(block, both["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    x, target = torch.randn(TOKENS, WIDTH), torch.randn(TOKENS, WIDTH)

    def local(tensor):
        return tensor.to_local() if isinstance(tensor, DTensor) else tensor

    def step():
        optimizer.zero_grad()
        F.mse_loss(model(x), target).backward()
        for block in model:
            gradients = [local(parameter.grad) for parameter in block.parameters()]
            bucket = torch.cat([gradient.flatten() for gradient in gradients])
            dist.all_reduce(bucket, group=both.get_group("dp"))
            parts = bucket.div_(both["dp"].size()).split([g.numel() for g in gradients])
            for gradient, part in zip(gradients, parts):
                gradient.copy_(part.view_as(gradient))
        optimizer.step()

    return step


def pipeline():
    """Two stages, four micro-batches, one forward and one backward in turn."""
    stage = PipelineStage(nn.Sequential(Block(), Block()), dist.get_rank(), dist.get_world_size(),
                          torch.device("cpu"))
    schedule = Schedule1F1B(stage, 4, loss_fn=F.mse_loss)
    optimizer = torch.optim.SGD(stage.submod.parameters(), 1e-3)
    x, target = torch.randn(TOKENS, WIDTH), torch.randn(TOKENS, WIDTH)

    def step():
        optimizer.zero_grad()
        if dist.get_rank() == 0:
            schedule.step(x)
        else:
            schedule.step(target=target)
        optimizer.step()

    return step


class Exchange(torch.autograd.Function):
    @staticmethod
    def forward(context, rows, sent, received):
        context.sent, context.received = sent, received
        result = rows.new_empty(sum(received), rows.shape[1])
        dist.all_to_all_single(result, rows.contiguous(), received, sent)
        return result

    @staticmethod
    def backward(context, gradient):
        result = gradient.new_empty(sum(context.sent), gradient.shape[1])
        dist.all_to_all_single(result, gradient.contiguous(), context.sent, context.received)
        return result, None, None


def experts():
    """One expert a rank: tokens go where a gate sends them, and come back."""
    world = dist.get_world_size()
    gate, expert = nn.Linear(WIDTH, world), Block()
    parameters = [*gate.parameters(), *expert.parameters()]
    optimizer = torch.optim.SGD(parameters, 1e-3)
    x, target = torch.randn(TOKENS, WIDTH), torch.randn(TOKENS, WIDTH)

    def step():
        optimizer.zero_grad()
        weights, chosen = gate(x).softmax(-1).max(-1)
        order = chosen.argsort(stable=True)
        sent = torch.bincount(chosen, minlength=world)
        received = torch.empty_like(sent)
        dist.all_to_all_single(received, sent)
        rows = Exchange.apply(x[order], sent.tolist(), received.tolist())
        back = Exchange.apply(expert(rows), received.tolist(), sent.tolist())
        out = torch.zeros_like(x).index_add(0, order, back * weights[order].unsqueeze(-1))
        F.mse_loss(out, target).backward()
        optimizer.step()

    return step


def context_ring():
    """Attention over a sequence divided among ranks: keys and values go round, one hop ahead."""
    rank, world = dist.get_rank(), dist.get_world_size()
    project = nn.Linear(WIDTH, 3 * WIDTH)
    x = torch.randn(TOKENS, WIDTH)

    def pass_on(tensor):
        received = torch.empty_like(tensor)
        return received, dist.batch_isend_irecv([
            dist.P2POp(dist.isend, tensor, (rank + 1) % world),
            dist.P2POp(dist.irecv, received, (rank - 1) % world)])

    def step():
        with torch.no_grad():
            query, key, value = project(x).chunk(3, dim=-1)
            held = torch.stack([key, value])
            weighted, total = torch.zeros_like(query), torch.zeros(TOKENS, 1)
            for hop in range(world):
                if hop + 1 < world:
                    following, works = pass_on(held)
                scores = (query @ held[0].T / WIDTH ** 0.5).exp()
                weighted, total = weighted + scores @ held[1], total + scores.sum(-1, keepdim=True)
                if hop + 1 < world:
                    for work in works:
                        work.wait()
                    held = following
            return weighted / total

    return step


BUILDERS = {builder.__name__: builder
            for builder in (fsdp2, hybrid_sharded, zero, tensor_parallel, tensor_data_parallel, pipeline, experts,
                            context_ring)}


class Issued(TorchDispatchMode):
    """Counts the communication that runs through the dispatcher."""

    BESIDES = {"wait_tensor", "_wrap_tensor_autograd"}  # of functional collectives: they issue nothing

    def __init__(self):
        super().__init__()
        self.counts = collections.Counter()

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        name = operator._schema.name.partition("::")[2]
        if operator.namespace in ("c10d", "_c10d_functional") and name not in self.BESIDES:
            self.counts[name] += 1
        return operator(*args, **(kwargs or {}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=BUILDERS)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--width", type=int, default=WIDTH)
    parser.add_argument("--tokens", type=int, default=TOKENS)
    parser.add_argument("--count", action="store_true")
    arguments = parser.parse_args()
    globals().update(WIDTH=arguments.width, TOKENS=arguments.tokens)
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "capture"))
    import understudy

    dist.init_process_group("gloo")
    torch.manual_seed(20)
    step = BUILDERS[arguments.name]()
    if arguments.count:
        step()
        with Issued() as issued:
            step()
        if dist.get_rank() == 0:
            print(dict(issued.counts))
    else:
        for _ in range(arguments.steps):
            step()
            understudy.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
