"""A step of Llama 3 405B or 70B in plain torch, as Megatron-LM trains it: tensor and sequence parallelism, 1F1B pipeline, float32 sums of
gradients, an optimizer divided among data-parallel ranks. What Transformer Engine fuses is an autograd function that saves the same tensors.

    understudy capture --as B200 --world-size 1024 --all-kinds -o llama llama3.py 405b 8 8
    understudy generate llama --world-size 1024 -o llama.et && understudy predict llama.et --card B200

Its arguments are the model, the sizes of tensor and pipeline parallelism, micro-batches (else as many as stages), and layers (else all).
"""

import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.autograd import Function
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

import understudy

MODELS = {"405b": (16384, 53248, 128, 126, 8192), "70b": (8192, 28672, 64, 80, 4096)}
WIDTH, INNER, HEADS, LAYERS, TOKENS = MODELS[sys.argv[1]]
PARTS, STAGES, BATCHES, LAYERS = (*map(int, sys.argv[2:]), *(int(sys.argv[3]), LAYERS)[len(sys.argv) - 4:])
KEYS, HEAD, WORDS = 8, 128, 128256


def gather(x):
    """Each rank's rows of a sequence become all rows."""
    if PARTS == 1:
        return x
    whole = x.new_empty(len(x) * PARTS, *x.shape[1:])
    dist.all_gather_into_tensor(whole, x.contiguous(), group=tensor)
    return whole


def scatter(x):
    """Rows are summed, and each rank takes its own."""
    if PARTS == 1:
        return x
    part = x.new_empty(len(x) // PARTS, *x.shape[1:])
    dist.reduce_scatter_tensor(part, x.contiguous(), group=tensor)
    return part


class Column(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x)
        ctx.weight = weight
        return gather(x) @ weight.t()

    @staticmethod
    def backward(ctx, gradient):
        whole = gather(ctx.saved_tensors[0])
        of_x = scatter(gradient @ ctx.weight)
        ctx.weight.sum.add_(gradient.t() @ whole)
        return of_x, None


class Row(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x)
        ctx.weight = weight
        return scatter(x @ weight.t())

    @staticmethod
    def backward(ctx, gradient):
        whole = gather(gradient)
        ctx.weight.sum.add_(whole.t() @ ctx.saved_tensors[0])
        return whole @ ctx.weight, None


class SwiGlu(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        gate, up = x.chunk(2, -1)
        return F.silu(gate).mul_(up)

    @staticmethod
    def backward(ctx, gradient):
        gate, up = ctx.saved_tensors[0].chunk(2, -1)
        result = torch.empty_like(ctx.saved_tensors[0])
        torch.mul(F.silu(gate), gradient, out=result.chunk(2, -1)[1])
        result.chunk(2, -1)[0].copy_(torch.ops.aten.silu_backward(gradient * up, gate))
        return result


class Rotary(Function):
    @staticmethod
    def turned(x, cosine, sine):
        return torch.addcmul(x * cosine, torch.cat((-x[..., HEAD // 2:], x[..., :HEAD // 2]), -1), sine)

    @staticmethod
    def forward(ctx, x, cosine, sine):
        ctx.cosine, ctx.sine = cosine, sine
        return Rotary.turned(x, cosine, sine)

    @staticmethod
    def backward(ctx, gradient):
        return Rotary.turned(gradient, ctx.cosine, -ctx.sine), None, None


class Embedding(Function):
    """The words are divided among tensor's ranks."""

    @staticmethod
    def forward(ctx, tokens, weight):
        ctx.save_for_backward(tokens)
        ctx.weight = weight
        return scatter(F.embedding(tokens, weight))

    @staticmethod
    def backward(ctx, gradient):
        ctx.weight.sum.index_add_(0, ctx.saved_tensors[0], gather(gradient).float())
        return None, None


class CrossEntropy(Function):
    """Of logits that are divided by words; the gradient takes their place."""

    @staticmethod
    def forward(ctx, logits, targets):
        most = logits.amax(-1, keepdim=True)
        if PARTS > 1:
            dist.all_reduce(most, dist.ReduceOp.MAX, group=tensor)
        logits.sub_(most)
        own = torch.gather(logits, 1, targets).float()
        logits.exp_()
        both = torch.cat((own, logits.sum(-1, keepdim=True, dtype=torch.float32)))
        if PARTS > 1:
            dist.all_reduce(both, group=tensor)
        own, total = both.chunk(2)
        logits.div_(total)
        ctx.save_for_backward(logits, targets)
        return (total.log() - own).mean()

    @staticmethod
    def backward(ctx, gradient):
        logits, targets = ctx.saved_tensors
        logits.scatter_add_(1, targets, torch.full_like(targets, -1, dtype=logits.dtype))
        return logits.mul_(gradient / TOKENS), None


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        shapes = ((HEADS + 2 * KEYS) * HEAD // PARTS, WIDTH), (WIDTH, HEADS * HEAD // PARTS), (2 * INNER // PARTS, WIDTH), (WIDTH, INNER // PARTS)
        self.heads, self.out, self.up, self.down = (nn.Parameter(torch.empty(each)) for each in shapes)

    def forward(self, x):
        heads = Column.apply(self.before(x), self.heads).view(TOKENS, -1, HEAD)
        query, key, value = heads.split([HEADS // PARTS, KEYS // PARTS, KEYS // PARTS], 1)
        turned = *(Rotary.apply(each, cosine, sine) for each in (query, key)), value
        mixed = F.scaled_dot_product_attention(*(each.transpose(0, 1)[None] for each in turned), is_causal=True, enable_gqa=True)
        x = x + Row.apply(mixed[0].transpose(0, 1).reshape(TOKENS, -1), self.out)
        return x + Row.apply(SwiGlu.apply(Column.apply(self.between(x), self.up)), self.down)


class Stage(nn.Module):
    """The layers of one pipeline stage; the first has the embedding, the last the output."""

    def __init__(self):
        super().__init__()
        self.words = nn.Parameter(torch.empty(WORDS // PARTS, WIDTH)) if is_first else None
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS * stage // STAGES, LAYERS * (stage + 1) // STAGES)))
        self.norm, self.head = (nn.RMSNorm(WIDTH), nn.Parameter(torch.empty(WORDS // PARTS, WIDTH))) if is_last else (None, None)

    def forward(self, x):
        x = self.layers(Embedding.apply(x[0], self.words) if is_first else x)
        return Column.apply(self.norm(x), self.head) if is_last else x


class Optimizer:
    """Gradients are summed in one buffer, of which each data-parallel rank has a part to step with (ZeRO-1)."""

    def __init__(self, model):
        parameters, ranks = list(model.parameters()), data.size()
        size = -(-sum(each.numel() for each in parameters) // ranks) * ranks
        self.whole, self.sums = torch.empty(size), torch.zeros(size, dtype=torch.float32)
        at = 0
        for each in parameters:
            each.data = self.whole[at:at + each.numel()].view(each.shape)
            each.sum = self.sums[at:at + each.numel()].view(each.shape)
            at += each.numel()
        self.norms = [each for each in parameters if each.dim() == 1]  # the others are added where they are computed
        for each in self.norms:
            each.register_post_accumulate_grad_hook(self.add)
        self.part = nn.Parameter(torch.empty(size // ranks, dtype=torch.float32))
        self.own = slice(data.rank() * size // ranks, (data.rank() + 1) * size // ranks)
        self.adam = torch.optim.AdamW([self.part], fused=True)

    @staticmethod
    def add(parameter):
        parameter.sum.add_(parameter.grad)
        parameter.grad = None

    def step(self):
        if PARTS > 1:
            norms = torch.cat([each.sum for each in self.norms])  # of rows of the sequence
            dist.all_reduce(norms, group=tensor)
            torch._foreach_copy_([each.sum for each in self.norms], norms.split(WIDTH))
        self.part.grad = self.sums[self.own]
        if data.size() > 1:
            dist.reduce_scatter_tensor(self.part.grad, self.sums, group=data)
        norm = self.part.grad.norm().square()
        dist.all_reduce(norm)
        self.part.grad.mul_(1 / norm.sqrt())
        self.adam.step()
        self.whole[self.own].copy_(self.part.detach())
        if data.size() > 1:
            dist.all_gather_into_tensor(self.whole, self.whole[self.own], group=data)
        self.sums.zero_()


dist.init_process_group("nccl")
mesh = init_device_mesh("cuda", (STAGES, dist.get_world_size() // STAGES // PARTS, PARTS), mesh_dim_names=("stage", "data", "tensor"))
stage, data, tensor = mesh.get_local_rank("stage"), mesh.get_group("data"), mesh.get_group("tensor")
is_first, is_last = stage == 0, stage == STAGES - 1
device = torch.device("cuda", torch.cuda.current_device())
torch.set_default_device(device)
torch.set_default_dtype(torch.bfloat16)
cosine, sine = torch.randn(2, TOKENS, 1, HEAD)
model = Stage()
optimizer = Optimizer(model)
tokens = torch.randint(0, WORDS // PARTS, (BATCHES, TOKENS + 1))
rows = torch.empty(TOKENS // PARTS, WIDTH, requires_grad=True, device="meta")
result = torch.empty(TOKENS, WORDS // PARTS, requires_grad=True, device="meta") if is_last else rows
made = PipelineStage(model, stage, STAGES, device, tokens[:1, :-1] if is_first else rows, result, group=mesh.get_group("stage"))
schedule = Schedule1F1B(made, BATCHES, loss_fn=lambda logits, targets: CrossEntropy.apply(logits, targets[0, :, None]))
for _ in range(9):
    schedule.step(*([tokens[:, :-1]] if is_first else []), **({"target": tokens[:, 1:]} if is_last else {}), return_outputs=False)
    optimizer.step()
    understudy.step()
