"""Each collective once on two ranks; make_captures.py records it through Gloo and in NCCL form."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.distributed.fsdp import fully_shard


def exchange_by_counts(data):
    """As experts do: how many values come is told before they do."""
    chosen = (data > 2).long()
    sent = torch.bincount(chosen, minlength=2)
    heard = torch.empty_like(sent)
    dist.all_to_all_single(heard, sent)
    values = torch.empty(int(heard.sum()))
    dist.all_to_all_single(values, data[chosen.argsort(stable=True)], heard.tolist(),
                           sent.tolist())
    sender = torch.arange(2).repeat_interleave(heard)
    torch.zeros(2).index_add(0, sender, values)


def make_step(nccl_form):
    """One pass over the collectives; nccl_form adds those that Gloo itself lacks."""
    rank, world = dist.get_rank(), dist.get_world_size()
    peer = 1 - rank
    alone = [dist.new_group([r], group_desc=f"alone_{r}") for r in range(world)][rank]
    pair = dist.new_group(list(range(world)), group_desc="pair")
    data = torch.arange(8, dtype=torch.float32) + rank
    weight = torch.randn(8, requires_grad=True)

    if nccl_form:
        sharded = fully_shard(torch.nn.Linear(8, 6), mesh=dist.init_device_mesh("cpu", (world,)))

    def parts(elements=4):
        return [torch.zeros(elements) for _ in range(world)]

    def step():
        dist.all_reduce(data.clone())
        later = dist.all_reduce(data.long(), op=dist.ReduceOp.MAX, group=pair, async_op=True)
        between = data * 2
        later.wait()
        dist.all_reduce(between, group=alone)
        dist.broadcast(data.clone(), src=1)
        dist.reduce(data.clone(), dst=1)
        dist.all_gather(parts(8), data)
        whole = torch.empty(8 * world)
        dist.all_gather_into_tensor(whole, data)
        dist.gather(data, parts(8) if rank == 0 else None, dst=0)
        dist.scatter(torch.empty(4), list(data.split(4)) if rank == 0 else None, src=0)
        dist.reduce_scatter(torch.empty(4), [part.clone() for part in data.split(4)])
        dist.reduce_scatter_tensor(torch.empty(8), whole)
        uneven = ([3, 5], [1, 7])  # how many elements each rank sends to rank 0 and to rank 1
        arriving = [uneven[sender][rank] for sender in range(world)]
        dist.all_to_all_single(torch.empty(sum(arriving)), data, arriving, list(uneven[rank]))
        dist.all_to_all_single(torch.empty(8), data, group=pair)
        if rank == 0:
            dist.send(data, peer)
            dist.recv(torch.empty(8), peer)
        else:
            dist.recv(torch.empty(8), peer)
            dist.send(data, peer)
        received = torch.empty(8)
        for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, data, peer),
                                            dist.P2POp(dist.irecv, received, peer)]):
            work.wait()
        with dist._coalescing_manager():
            for part in (data.clone(), between):
                dist.all_reduce(part)
        with dist._coalescing_manager():
            for part in data.split(4):
                dist.all_gather_into_tensor(torch.empty(4 * world), part.clone())
        if nccl_form:
            dist.all_to_all(parts(), list(data.split(4)))
            dist.all_reduce(data.clone(), op=dist.ReduceOp.AVG)
            dist.all_reduce(data.clone(), op=dist.ReduceOp.MIN)
            for part in functional.reduce_scatter_tensor_coalesced(
                    [whole, data.clone()], "max", [0, 0], dist.group.WORLD):
                part * 2
            exchange_by_counts(data)
            sharded(data.view(1, 8)).sum().backward()
        dist.barrier()
        (weight * received).sum().backward()
        dist.all_reduce(weight.grad)

    return step
