"""Collectives and messages, by torch.distributed."""

import datetime
import itertools
import json

import torch.distributed as dist

_groups = []
_rounds = itertools.count()
_store = None  # of all ranks


def start(backend, groups, ranks):
    """Joins the other ranks. `backend`: None for the device's own. `groups`: members of each group; none means all ranks."""
    global _store
    store, rank, ranks = (dist.HashStore(), 0, 1) if ranks == 1 else next(dist.rendezvous("env://"))  # works without torchrun
    store.set_timeout(datetime.timedelta(hours=1))  # a rank may be slow to start
    _store = dist.PrefixStore("bench", store)
    dist.init_process_group(backend, store=store, rank=rank, world_size=ranks)
    _groups.extend(dist.new_group(members or list(range(ranks))) for members in groups)


def all_of(value):
    """Returns the values of all ranks, through the store: all_gather_object() of PyTorch needs numpy."""
    number = next(_rounds)
    _store.set(f"{number}/{dist.get_rank()}", json.dumps(value))
    return [json.loads(_store.get(f"{number}/{rank}")) for rank in range(dist.get_world_size())]


class Work:
    def __init__(self, handles, copies, scaled=(), factor=1):
        self.handles, self.copies, self.scaled, self.factor = handles, copies, scaled, factor

    def wait(self):
        for handle in self.handles:
            if handle is not None:
                handle.wait()
        for tensor in self.scaled:
            tensor.mul_(self.factor)
        for to, copy in self.copies:
            to.copy_(copy)


def rows(tensor, splits):
    """Returns splits as rows; traces have rows or elements."""
    return [n * tensor.shape[0] // (sum(splits) or 1) for n in splits] or None


def apart(given, result):
    """Returns what a call reads; in memory of its own where the call writes there too."""
    return given.clone() if given.untyped_storage().data_ptr() == result.untyped_storage().data_ptr() else given


def communicate(kind, group, inputs=(), outputs=(), root_or_peer=0, in_splits=(), out_splits=(), reduce="sum"):
    """Starts a collective or a message by torch.distributed."""
    members = _groups[group]
    world = dist.get_world_size(members)
    factor = float(reduce.partition("premul_sum:")[2] or 1)
    op = dist.ReduceOp.SUM if factor != 1 else {"sum": dist.ReduceOp.SUM, "avg": dist.ReduceOp.AVG, "product": dist.ReduceOp.PRODUCT,
          "min": dist.ReduceOp.MIN, "max": dist.ReduceOp.MAX, "band": dist.ReduceOp.BAND,
          "bor": dist.ReduceOp.BOR, "bxor": dist.ReduceOp.BXOR}[reduce]
    flat = [t.contiguous() for t in outputs]
    copies = [(t, f) for t, f in zip(outputs, flat) if f is not t]
    inputs = [flat[[o is t for o in outputs].index(True)] if any(o is t for o in outputs) else t.contiguous()
              for t in inputs]
    handles = []
    add = handles.append
    options = {"group": members, "async_op": True}
    peer = dist.get_global_rank(members, root_or_peer) if kind not in ("Barrier",) else 0
    if kind in ("AllReduce", "Broadcast", "Reduce"):
        for i, o in zip(inputs, flat):
            if i is not o:
                o.copy_(i)
            add(dist.all_reduce(o, op=op, **options) if kind == "AllReduce"
                else dist.broadcast(o, peer, **options) if kind == "Broadcast"
                else dist.reduce(o, peer, op=op, **options))
    elif kind == "AllGather":
        for i, tensor in enumerate(inputs):
            add(dist.all_gather(flat[i * world:(i + 1) * world], tensor, **options))
    elif kind == "AllGatherBase":
        for i, o in zip(inputs, flat):
            add(dist.all_gather_into_tensor(o, apart(i, o), **options))
    elif kind == "ReduceScatter":
        for i, o in enumerate(flat):
            add(dist.reduce_scatter(o, inputs[i * world:(i + 1) * world], op=op, **options))
    elif kind == "ReduceScatterBase":
        for i, o in zip(inputs, flat):
            add(dist.reduce_scatter_tensor(o, apart(i, o), op=op, **options))
    elif kind == "Gather":
        add(dist.gather(inputs[0], flat or None, dst=peer, **options))
    elif kind == "Scatter":
        add(dist.scatter(flat[0], inputs or None, src=peer, **options))
    elif kind in ("AllToAll", "AllToAllV") and len(inputs) == 1:
        add(dist.all_to_all_single(flat[0], inputs[0], rows(flat[0], out_splits), rows(inputs[0], in_splits), **options))
    elif kind == "AllToAll":
        add(dist.all_to_all(flat, inputs, **options))
    elif kind == "Send":
        for tensor in inputs:
            add(dist.isend(tensor, peer, members))
    elif kind == "Recv":
        for tensor in flat:
            add(dist.irecv(tensor, peer, members))
    elif kind == "Barrier":
        add(dist.barrier(**options))
    else:
        raise RuntimeError(f"no communication of the kind {kind!r}")
    return Work(handles, copies, flat if factor != 1 else (), factor)
