"""Ranks that are not there: the script's process is one of a job, whose others have what it has (capture/played/nccl.cpp)."""

from __future__ import annotations

import functools
import re

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d
from torch.distributed import rendezvous

from .. import job
from ..comms import record_fake_groups
from .values import refuse

UNIQUE_ID = bytes(128)  # what another rank would have put into the store: NCCL's name of a communicator
BACKENDS = ("nccl", "gloo", "fake", "undefined")

_stores: list[dist.Store] = []  # C++ holds a store without its Python part, which has the methods


class Store(dist.Store):
    """Keys of other ranks are there at once."""

    host, port = "localhost", 1

    def __init__(self, *_, **__):
        super().__init__()
        self._kept = {}
        _stores.append(self)

    def set(self, key, value):
        self._kept[key] = value.encode() if isinstance(value, str) else bytes(value)

    def get(self, key):
        return self._kept.get(key, UNIQUE_ID)

    def add(self, key, number):
        self._kept[key] = str(int(self._kept.get(key, b"0")) + number).encode()
        return int(self._kept[key])

    def compare_set(self, key, expected, desired):
        if self._kept.get(key, b"") in (b"", expected.encode() if isinstance(expected, str) else expected):
            self.set(key, desired)
        return self.get(key)

    def clone(self):
        return self

    def check(self, keys):
        return self._kept.keys() >= {*keys}

    def wait(self, keys, *_):
        pass

    def delete_key(self, key):
        return self._kept.pop(key, None) is not None

    def num_keys(self):
        return len(self._kept)

    def set_timeout(self, timeout):
        pass


class Ranks:
    def __init__(self, rank, world_size):
        self.rank, self.world_size = rank, world_size
        self.has_reducer = False  # DDP's
        self.partners = set()  # global ranks that it sends to or receives from, and others of their group: a pipeline's stages

    def install(self):
        job.is_played = True
        dist.TCPStore = rendezvous.TCPStore = Store
        record_fake_groups()
        self._join_groups()
        self._answer_objects()
        for name in ("send", "recv"):
            self._note_partners(name)
        reducer = dist.Reducer.__init__

        def made(*args, **kwargs):
            self.has_reducer = True
            reducer(*args, **kwargs)

        dist.Reducer.__init__ = made

    def _join_groups(self):
        """Groups of Gloo become torch's fake ones, which are recorded in NCCL's form: nothing waits for a rank that is not there."""
        init, helper = c10d.init_process_group, c10d._new_process_group_helper

        @functools.wraps(init)
        def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="", pg_options=None, device_id=None, **others):
            if world_size not in (-1, self.world_size):
                refuse(f"init_process_group() wants {world_size} ranks and the capture has {self.world_size}",
                       f"capture with --world-size {world_size}")
            if device_id is not None:
                torch.cuda.set_device(device_id)
            init(backend or "nccl", timeout=timeout, world_size=self.world_size, rank=self.rank, store=Store(), pg_options=pg_options, **others)
            # Groups of a bound device are split from others, and NCCL would have a part's size from its ranks.
            c10d._get_default_group().bound_device_id = None

        @functools.wraps(helper)
        def make(group_size, group_rank, global_ranks, backend, *rest, **options):
            for each in re.split("[,:]", str(backend or "undefined")):
                if each not in (*BACKENDS, "cpu", "cuda"):
                    refuse(f"a process group of {each} cannot be recorded without its other ranks", "use nccl or gloo for this capture")
            return helper(group_size, group_rank, global_ranks, backend and re.sub(r"\bgloo\b", "fake", str(backend)), *rest, **options)

        c10d._new_process_group_helper = make
        c10d.init_process_group = dist.init_process_group = init_process_group

    def _note_partners(self, name):
        original = getattr(dist.ProcessGroup, name)

        def call(group, tensors, peer, *rest):
            ranks = dist.get_process_group_ranks(group)
            self.partners.update([ranks[peer]] if len(ranks) == self.world_size else ranks)
            return original(group, tensors, peer, *rest)

        setattr(dist.ProcessGroup, name, call)

    def _answer_objects(self):
        """Objects come from ranks that are not there: each is taken to have what this one has; a message is not known."""
        def all_gather_object(object_list, obj, group=None):
            object_list[:] = [obj] * len(object_list)

        def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
            if object_gather_list is not None:
                object_gather_list[:] = [obj] * len(object_gather_list)

        def receive(*_, **__):
            refuse("an object is received from a rank that is not there",
                   "a pipeline's stage needs no message if it is given its input_args and output_args")

        for name, answer in (("all_gather_object", all_gather_object), ("gather_object", gather_object),
                             ("broadcast_object_list", lambda *_, **__: None), ("send_object_list", lambda *_, **__: None),
                             ("recv_object_list", receive), ("monitored_barrier", lambda *_, **__: None)):
            setattr(c10d, name, answer)
            setattr(dist, name, answer)
