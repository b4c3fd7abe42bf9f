"""Llama 3 70B, cut to 12 layers, as Megatron-LM trains it, in plain torch: tensor and sequence parallelism, 1F1B on two stages, float32
sums of gradients, a distributed optimizer. What Transformer Engine fuses is an autograd function that saves the same tensors.

    understudy capture --as B200 --world-size 8 -o job megatron_llama.py TP PP MICRO_BATCHES
    generate job --world-size 8 -o job.et && predict job.et --card B200
"""

import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
import understudy
from torch.autograd import Function

TP, PP, MICRO_BATCHES = map(int, sys.argv[1:4])
LAYERS, WIDTH, INNER, HEADS, KEYS, HEAD, VOCABULARY, TOKENS = 12, 8192, 28672, 64, 8, 128, 128256, 4096
dist.init_process_group("nccl")
RANK, WORLD = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(RANK % torch.cuda.device_count())
DP = WORLD // TP // PP
STAGE = RANK // (TP * DP)


def group_of(all_ranks):
    return next(group for group, ranks in [(dist.new_group(ranks), ranks) for ranks in all_ranks] if RANK in ranks)


TENSOR = group_of([list(range(first, first + TP)) for first in range(0, WORLD, TP)])
DATA = group_of([list(range(stage * TP * DP + shard, (stage + 1) * TP * DP, TP)) for stage in range(PP) for shard in range(TP)])


def gather(x, group=TENSOR, size=TP):
    if size == 1:
        return x
    whole = x.new_empty((x.shape[0] * size, *x.shape[1:]))
    dist.all_gather_into_tensor(whole, x.contiguous(), group=group)
    return whole


def scatter(x, group=TENSOR, size=TP):
    if size == 1:
        return x
    part = x.new_empty((x.shape[0] // size, *x.shape[1:]))
    dist.reduce_scatter_tensor(part, x.contiguous(), group=group)
    return part


class Column(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x)
        ctx.weight = weight
        return gather(x) @ weight.t()

    @staticmethod
    def backward(ctx, grad):
        whole = gather(ctx.saved_tensors[0])
        grad_x = scatter(grad @ ctx.weight)
        ctx.weight.main_grad.add_(grad.t() @ whole)
        return grad_x, None


class Row(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x)
        ctx.weight = weight
        return scatter(x @ weight.t())

    @staticmethod
    def backward(ctx, grad):
        whole = gather(grad)
        ctx.weight.main_grad.add_(whole.t() @ ctx.saved_tensors[0])
        return whole @ ctx.weight, None


class SwiGlu(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        gate, up = x.chunk(2, -1)
        return F.silu(gate).mul_(up)

    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors[0].chunk(2, -1)
        result = torch.empty_like(ctx.saved_tensors[0])
        torch.mul(F.silu(gate), grad, out=result.chunk(2, -1)[1])
        result.chunk(2, -1)[0].copy_(torch.ops.aten.silu_backward(grad * up, gate))
        return result


class Rotary(Function):
    @staticmethod
    def turned(x, cos, sin):
        half = HEAD // 2
        return torch.addcmul(x * cos, torch.cat((-x[..., half:], x[..., :half]), -1), sin)

    @staticmethod
    def forward(ctx, x, cos, sin):
        ctx.cos, ctx.sin = cos, sin
        return Rotary.turned(x, cos, sin)

    @staticmethod
    def backward(ctx, grad):
        return Rotary.turned(grad, ctx.cos, -ctx.sin), None, None


class CrossEntropy(Function):
    """Of logits that are divided among ranks by words; the gradient takes their place."""

    @staticmethod
    def forward(ctx, logits, targets):
        most = logits.amax(-1, keepdim=True)
        if TP > 1:
            dist.all_reduce(most, dist.ReduceOp.MAX, group=TENSOR)
        logits.sub_(most)
        own = torch.gather(logits, 1, targets).float()
        logits.exp_()
        both = torch.cat((own, logits.sum(-1, keepdim=True, dtype=torch.float32)))
        if TP > 1:
            dist.all_reduce(both, group=TENSOR)
        own, total = both.chunk(2)
        logits.div_(total)
        ctx.save_for_backward(logits, targets)
        return (total.log() - own).mean()

    @staticmethod
    def backward(ctx, grad):
        logits, targets = ctx.saved_tensors
        logits.scatter_add_(1, targets, torch.full_like(targets, -1, dtype=logits.dtype))
        return logits.mul_(grad / TOKENS), None


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.norm2 = torch.nn.RMSNorm(WIDTH), torch.nn.RMSNorm(WIDTH)
        shape = [((HEADS + 2 * KEYS) * HEAD // TP, WIDTH), (WIDTH, HEADS * HEAD // TP), (2 * INNER // TP, WIDTH), (WIDTH, INNER // TP)]
        self.qkv, self.out, self.up, self.down = (torch.nn.Parameter(torch.empty(each)) for each in shape)

    def forward(self, x, cos, sin):
        qkv = Column.apply(self.norm(x), self.qkv).view(TOKENS, -1, HEAD)
        q, k, v = qkv.split([HEADS // TP, KEYS // TP, KEYS // TP], 1)
        q, k = Rotary.apply(q, cos, sin), Rotary.apply(k, cos, sin)
        y = F.scaled_dot_product_attention(*(each.transpose(0, 1)[None] for each in (q, k, v)), is_causal=True, enable_gqa=True)
        x = x + Row.apply(y[0].transpose(0, 1).reshape(TOKENS, -1), self.out)
        return x + Row.apply(SwiGlu.apply(Column.apply(self.norm2(x), self.up)), self.down)


class Stage(torch.nn.Module):
    def __init__(self):
        super().__init__()
        if STAGE == 0:
            self.words = torch.nn.Parameter(torch.empty(VOCABULARY // TP, WIDTH))
        self.layers = torch.nn.ModuleList(Layer() for _ in range(LAYERS // PP))
        if STAGE == PP - 1:
            self.norm, self.head = torch.nn.RMSNorm(WIDTH), torch.nn.Parameter(torch.empty(VOCABULARY // TP, WIDTH))
        self.angles = [torch.randn(TOKENS, 1, HEAD) for _ in range(2)]

    def forward(self, x, targets):
        if STAGE == 0:
            x = Embedding.apply(x, self.words)
        for layer in self.layers:
            x = layer(x, *self.angles)
        return x if STAGE < PP - 1 else CrossEntropy.apply(Column.apply(self.norm(x), self.head), targets)


class Embedding(Function):
    @staticmethod
    def forward(ctx, tokens, weight):
        ctx.save_for_backward(tokens)
        ctx.weight = weight
        return scatter(F.embedding(tokens, weight))

    @staticmethod
    def backward(ctx, grad):
        ctx.weight.main_grad.index_add_(0, ctx.saved_tensors[0], gather(grad).float())
        return None, None


def exchange(sent, received):
    """Sends to and receives from the other stage; returns what was received."""
    peer = RANK + TP * DP if STAGE == 0 else RANK - TP * DP
    result = torch.empty(TOKENS // TP, WIDTH, dtype=torch.bfloat16) if received else None
    calls = [dist.P2POp(dist.isend, sent, peer)] if sent is not None else []
    calls += [dist.P2POp(dist.irecv, result, peer)] if received else []
    for work in dist.batch_isend_irecv(calls):
        work.wait()
    return result


def run_step(stage):
    tokens, targets = torch.randint(0, VOCABULARY // TP, (TOKENS,)), torch.randint(0, VOCABULARY // TP, (TOKENS, 1))
    if PP == 1:
        for _ in range(MICRO_BATCHES):
            stage(tokens, targets).backward()
    elif STAGE == 0:
        ahead = stage(tokens, targets)
        exchange(ahead.detach(), False)
        for number in range(MICRO_BATCHES):
            following = stage(tokens, targets) if number < MICRO_BATCHES - 1 else None
            grad = exchange(None if following is None else following.detach(), True)
            ahead.backward(grad)
            ahead = following
    else:
        x = exchange(None, True).requires_grad_()
        for number in range(MICRO_BATCHES):
            stage(x, targets).backward()
            last = number == MICRO_BATCHES - 1
            received = exchange(x.grad, not last)
            x = None if last else received.requires_grad_()


def add_up(parameter):
    parameter.main_grad.add_(parameter.grad)
    parameter.grad = None


torch.set_default_device("cuda")
torch.set_default_dtype(torch.bfloat16)
stage = Stage()
parameters = list(stage.parameters())
count = -(-sum(each.numel() for each in parameters) // DP) * DP
flat, sums = torch.empty(count), torch.zeros(count, dtype=torch.float32)
at = 0
for each in parameters:
    each.data = flat[at:at + each.numel()].view(each.shape)
    each.main_grad = sums[at:at + each.numel()].view(each.shape)
    if each.dim() == 1:  # the others are added where they are computed
        each.register_post_accumulate_grad_hook(add_up)
    at += each.numel()
master = torch.empty(count // DP, dtype=torch.float32, requires_grad=True)
own = slice(dist.get_rank(DATA) * count // DP, (dist.get_rank(DATA) + 1) * count // DP)
optimizer = torch.optim.AdamW([master], fused=True)
for _ in range(9):
    sums.zero_()
    run_step(stage)
    if DP > 1:
        dist.reduce_scatter_tensor(sums[own], sums, group=DATA)
    master.grad = sums[own]
    norm = master.grad.norm().square()
    dist.all_reduce(norm)
    master.grad.mul_(1 / norm.sqrt())
    optimizer.step()
    flat[own].copy_(master.detach())
    if DP > 1:
        dist.all_gather_into_tensor(flat, flat[own], group=DATA)
    understudy.step()
