"""The ranks of the captured job; a single one if nothing is distributed."""

import torch


def is_distributed():
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def rank():
    return torch.distributed.get_rank() if is_distributed() else 0


def world_size():
    return torch.distributed.get_world_size() if is_distributed() else 1


def gather(mine):
    """Gathers each rank's value on every rank, over the default group."""
    every = [mine]
    if is_distributed():
        every = [None] * world_size()
        torch.distributed.all_gather_object(every, mine)
    return every


def process_groups():
    return torch.distributed.distributed_c10d._world.pg_config_info if is_distributed() else []
