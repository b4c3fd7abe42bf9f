"""The ranks of the captured job; a single one if nothing is distributed."""

import pickle

import torch


def is_distributed():
    return torch.distributed.is_available() and torch.distributed.is_initialized()


is_played = False  # the driver is played: nobody else is there, whatever the groups' backends


def is_fake():
    """Returns whether the groups are of torch's backend `fake`, whose other ranks are not there."""
    if not is_distributed():
        return False
    backends = torch.distributed.distributed_c10d._world.pg_backend_config[torch.distributed.group.WORLD]
    return all(backend.endswith(":fake") for backend in backends.split(","))


def is_alone():
    return is_played or is_fake()


def leads():
    """Returns whether this rank writes for all."""
    return rank() == 0 or is_alone()


def rank():
    return torch.distributed.get_rank() if is_distributed() else 0


def world_size():
    return torch.distributed.get_world_size() if is_distributed() else 1


def gather(mine):
    """Gathers each rank's value on every rank that is there, over the default group. torch's all_gather_object() needs NumPy."""
    if not is_distributed() or is_alone():
        return [mine]
    device = torch.distributed.distributed_c10d._get_object_coll_device()
    data = torch.frombuffer(bytearray(pickle.dumps(mine)), dtype=torch.uint8).to(device)
    sizes = _all_gather(torch.tensor([data.numel()], device=device))
    parts = _all_gather(torch.nn.functional.pad(data, (0, int(max(sizes)) - data.numel())))
    return [pickle.loads(bytes(part[:int(size)].tolist())) for part, size in zip(parts, sizes)]


def _all_gather(tensor):
    every = [torch.empty_like(tensor) for _ in range(world_size())]
    torch.distributed.all_gather(every, tensor)
    return every


def process_groups():
    return torch.distributed.distributed_c10d._world.pg_config_info if is_distributed() else []
