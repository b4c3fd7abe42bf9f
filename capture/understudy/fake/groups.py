"""Process groups of ranks that are not there, and their collectives as ProcessGroupNCCL records them."""

from __future__ import annotations

import functools
import types
import weakref
from collections import deque

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.distributed import device_mesh
from torch.distributed import distributed_c10d as c10d
from torch.distributed.device_mesh import DeviceMesh
from torch.utils import _pytree as pytree

from ..comms import list_groups_of_others
from . import data_parallel
from .mode import TORCH, mark
from .values import refuse

LABEL = "understudy:call "
MOST_WORKS = 100_000
# c10d's operator → its name in a record, arguments with what is sent and received, argument with the root or peer.
CALLS = {
    "allreduce_": ("allreduce", "tensors", "tensors", None),
    "allreduce_coalesced_": ("allreduce_coalesced", "tensors", "tensors", None),
    "broadcast_": ("broadcast", "tensors", "tensors", "root_rank"),
    "reduce_": ("reduce", "tensors", "tensors", "root_rank"),
    "allgather_": ("all_gather", "input_tensors", "output_tensors", None),
    "_allgather_base_": ("_allgather_base", "input_tensor", "output_tensor", None),
    "allgather_into_tensor_coalesced_": ("allgather_into_tensor_coalesced", "inputs", "outputs", None),
    "gather_": ("gather", "input_tensors", "output_tensors", "root_rank"),
    "scatter_": ("scatter", "input_tensors", "output_tensors", "root_rank"),
    "reduce_scatter_": ("reduce_scatter", "input_tensors", "output_tensors", None),
    "_reduce_scatter_base_": ("_reduce_scatter_base", "input_tensor", "output_tensor", None),
    "reduce_scatter_tensor_coalesced_": ("reduce_scatter_tensor_coalesced", "inputs", "outputs", None),
    "alltoall_base_": ("all_to_all", "input", "output", None),
    "alltoall_": ("all_to_all", "input_tensors", "output_tensors", None),
    "send": ("send", "tensors", "tensors", "dst"),
    "recv_": ("recv", "tensors", "tensors", "src"),
    "barrier": ("barrier", None, None, None),
}
# By c10d's number; the factor of a premultiplied sum cannot be read here, but where Python calls (comms.py, reduce_op_labels).
REDUCTIONS = dict(enumerate(("sum", "avg", "product", "min", "max", "band", "bor", "bxor")))
OF_EQUALS = ("avg", "min", "max", "band", "bor")  # give a number that all ranks have; all are taken to have this one's
POINT_TO_POINT = ("send", "recv")
# Types as c10 names them in a record.
DTYPES = {torch.float32: "Float", torch.float64: "Double", torch.float16: "Half", torch.bfloat16: "BFloat16", torch.int64: "Long",
          torch.int32: "Int", torch.int16: "Short", torch.int8: "Char", torch.uint8: "Byte", torch.bool: "Bool",
          torch.float8_e4m3fn: "Float8_e4m3fn", torch.float8_e5m2: "Float8_e5m2", torch.complex64: "ComplexFloat"}


def _tensors(value):
    return [each for each in pytree.tree_leaves(value) if isinstance(each, torch.Tensor)]


class Work(dist.Work):
    """A collective that is over: nothing was sent. A wait for it is recorded. Until then an asynchronous one holds its tensors."""

    def __init__(self, group, sequence, results, held=()):
        super().__init__()
        self._group, self._sequence, self.held = group, sequence, list(held)
        self._results = [weakref.ref(each) for each in _tensors(results)]  # a work may outlive its tensors
        group.owner.works.append(self)

    def wait(self, timeout=None):
        if self._group.open is None:
            self.held = []
            self._group.record("wait", self._sequence)
        return True

    def is_completed(self):
        return True

    def get_future(self):
        self.held = []  # DDP's reducer waits for the future and has the tensors itself
        results = [each() for each in self._results if each() is not None]
        return torch._C.fork(lambda *_: results, *results)  # a future of C++'s type, which DDP reads


class Group:
    """What is recorded of one process group."""

    def __init__(self, owner, group):
        self.owner = owner
        ranks = dist.get_process_group_ranks(group)
        stride = 0 if len(ranks) == 1 else ranks[1] - ranks[0]
        self.ranks, self.rank = ranks, group.rank()
        self.stride = stride if all(b - a == stride for a, b in zip(ranks, ranks[1:])) else -1
        self.name, self.description = group.group_name, group.group_desc
        self._numbers = {False: 0, True: 0}  # of collectives, and point to point
        self.held = []  # tensors of an open group of calls
        self.open = None  # kinds of the calls of a group of calls; None: none is open

    def next_sequence(self, is_p2p):
        """Calls of one group of calls share a number; ProcessGroupNCCL records the next one for all collectives after the first."""
        first = self.open is None or is_p2p not in self.open
        if first:
            self._numbers[is_p2p] += 1
            if self.open is not None:
                self.open.append(is_p2p)
        return [self._numbers[is_p2p] + (0 if first or is_p2p else 1), is_p2p]

    def record(self, name, sequence, *, sent=None, received=None, peer=None, dtype="Byte", counts=(0, 0), splits=((), ()), reduction=None,
               is_async=False):
        call = {"name": name, "sequence": sequence, "group": [self.name, self.description], "peer": self.rank if peer is None else peer,
                "sent": sent, "received": received, "dtype": dtype, "counts": counts, "splits": [list(each) for each in splits],
                "ranks": [self.ranks[0], self.stride, len(self.ranks)], "reduction": reduction, "is_async": [is_async] * (TORCH >= (2, 12))}  # older ones do not say
        if name == "wait":
            call.update(group=["", ""], ranks=[-1, -1, 1])
        label = f"{LABEL}{len(self.owner.calls)}"
        self.owner.calls[label] = call
        mark(label, reduction and (f"nccl:{name}", [reduction]))


class Groups:
    """Makes every process group of torch's kind `fake`. `calls`: label in the trace → the recorded call."""

    def __init__(self, mode, rank, world_size, backend):
        self._mode, self.rank, self.world_size, self._backend = mode, rank, world_size, backend
        self.calls = {}
        self.has_reducer = False  # DDP's
        self.partners = set()  # global ranks that it sends to or receives from, and others of their group: a pipeline's stages
        self._groups = {}  # name → Group
        self.works = deque(maxlen=MOST_WORKS)  # kept while C++ may hold them: it alone would wait for ever

    def install(self):
        import torch.testing._internal.distributed.fake_pg as fake_pg
        helper, init = c10d._new_process_group_helper, c10d.init_process_group

        @functools.wraps(helper)
        def make(group_size, group_rank, global_ranks, backend, store, group_name, **options):
            options.update(device_id=None, backend_options=None)
            device_backend = f"{'cuda' if self._backend == 'nccl' else 'cpu'}:{self._backend}"
            with unset_fake_temporarily():
                made = helper(group_size, group_rank, global_ranks, "fake", store, group_name, **options)
            if isinstance(made[0], dist.ProcessGroup):
                c10d._world.pg_map[made[0]] = (dist.Backend(self._backend), store)
                c10d._world.pg_backend_config[made[0]] = device_backend
            return made

        @functools.wraps(init)
        def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="",
                               pg_options=None, device_id=None, **_):
            if world_size not in (-1, self.world_size):
                refuse(f"init_process_group() wants {world_size} ranks and the capture has {self.world_size}",
                       f"capture with --world-size {world_size}")
            if device_id is not None and self._backend == "nccl":
                torch.cuda.set_device(device_id)
            init("fake", store=fake_pg.FakeStore(), world_size=self.world_size, rank=self.rank)

        c10d._new_process_group_helper = make
        list_groups_of_others(lambda: True)
        c10d.init_process_group = dist.init_process_group = init_process_group
        torch._C._distributed_c10d.Backend.supports_coalescing = property(lambda backend: True)
        dist.ProcessGroup._start_coalescing = lambda group, device: setattr(self._of(group), "open", [])
        dist.ProcessGroup._end_coalescing = lambda group, device: self._end_coalescing(group)
        for name in CALLS:
            self._mode.handlers[getattr(torch.ops.c10d, name)] = self._call
        for library in ("_c10d_functional", "_dtensor"):
            for schema in torch._C._jit_get_all_schemas():
                if schema.name.startswith(f"{library}::"):
                    self._mode.handlers[getattr(getattr(torch.ops, library), schema.name.split("::")[1])] = self._mode.run_native
        # Functional collectives would take the mode for a compiler's, and wait at once.
        torch.distributed._functional_collectives._are_we_tracing = lambda: False
        self._answer_objects()
        self._make_meshes()
        self._infer_shards_aside()
        data_parallel.install(self._mode, lambda: setattr(self, "has_reducer", True))

    def _of(self, group):
        if group.group_name not in self._groups:
            self._groups[group.group_name] = Group(self, group)
        return self._groups[group.group_name]

    def _call(self, func, types, args, kwargs):
        schema = func._schema
        given = {argument.name: value for argument, value in zip(schema.arguments, args)} | kwargs
        name, sent, received, peer = CALLS[func.overloadpacket._qualified_op_name.split("::")[1]]
        group = self._of(dist.ProcessGroup.unbox(given["process_group"]))
        if name != "allreduce" or REDUCTIONS.get(given["reduce_op"].op()) not in OF_EQUALS:
            self._mode.contents.forget(given.get(received))
        is_p2p = name in POINT_TO_POINT
        sequence = group.next_sequence(is_p2p)
        if sent is None:
            group.record(name, sequence)
        else:
            self._record(group, name, sequence, given, sent, received, peer, [argument.name for argument in schema.arguments])
        if is_p2p:
            self.partners.update([group.ranks[given[peer]]] if len(group.ranks) == self.world_size else group.ranks)
        held = _tensors([given[sent], given[received]]) if sent and (is_p2p or given.get("async_op")) else ()
        if group.open is not None:
            group.held += held
            held = ()
        work = Work(group, sequence, given[received] if received else [], held).boxed()
        return work if len(schema.returns) == 1 else (given[received], work)

    @staticmethod
    def _record(group, name, sequence, given, sent, received, peer, names):
        counts = [sum(tensor.numel() for tensor in _tensors(given[each])) for each in (sent, received)]
        splits = [given.get("input_split_sizes", ()), given.get("output_split_sizes", ())]
        if name == "all_to_all" and "input_tensors" in given:
            splits = [[tensor.numel() for tensor in given[each]] for each in (sent, received)]
        elif any(splits):
            name = "all_to_allv"
        if name == "gather":
            counts[1] = counts[0] * len(group.ranks)
        elif name == "scatter":
            counts[0] = counts[1] * len(group.ranks)
        dtype = _tensors([given[sent], given[received]])[0].dtype
        group.record(name, sequence, sent=names.index(sent), received=names.index(received), peer=given[peer] if peer else None,
                     dtype=DTYPES.get(dtype, str(dtype)), counts=counts, splits=splits, is_async=given.get("async_op", True),
                     reduction=REDUCTIONS.get(given["reduce_op"].op()) if "reduce_op" in given else None)

    def _end_coalescing(self, group):
        ours = self._of(group)
        is_p2p, ours.open = True in ours.open, None
        mark("nccl:coalesced")
        held, ours.held = ours.held, []
        return Work(ours, [ours._numbers[is_p2p], is_p2p], [], held)

    def _make_meshes(self):
        """A mesh of ranks is computed with real numbers."""
        def real(value):
            contents = self._mode.contents.of(value) if isinstance(value, FakeTensor) else value
            if contents is None and value is not None:
                refuse("a mesh of ranks is made from a tensor, whose values were never computed",
                       "use init_device_mesh(), or give DeviceMesh a list")
            return contents

        def outside(method):
            @functools.wraps(method)
            def call(*args, **kwargs):
                args, kwargs = pytree.tree_map(real, (args, kwargs))
                with unset_fake_temporarily():
                    return method(*args, **kwargs)
            return call

        for name, method in list(vars(DeviceMesh).items()):
            if isinstance(method, types.FunctionType):
                setattr(DeviceMesh, name, outside(method))
        device_mesh.init_device_mesh = dist.init_device_mesh = outside(device_mesh.init_device_mesh)

    def _infer_shards_aside(self):
        """DTensor finds out the sizes of whole tensors with fake ones, for which it would take this mode."""
        from torch.distributed.tensor._sharding_prop import ShardingPropagator as Propagator
        original = Propagator._propagate_tensor_meta_non_cached

        def propagate(propagator, *args, **kwargs):
            with self._mode.aside():
                return original(propagator, *args, **kwargs)

        Propagator._propagate_tensor_meta_non_cached = propagate

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
