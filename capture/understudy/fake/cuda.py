"""What a script sees of CUDA: the named card, without a driver. It computes nothing; queries are answered, commands do nothing."""

from __future__ import annotations

import contextlib

import torch

from .values import refuse

DEVICES = 8  # that torch's guard for fake tensors knows
CUDA = 1  # c10::DeviceType


def nothing(*_, **__):
    return None


class Stream(torch.Stream):
    """Stands in for torch.cuda.Stream: torch's own object, which C++ and libraries take, with a number that no driver gave."""

    _made = 0

    def __new__(cls, device=None, priority=0, *, stream_id=None, device_index=None, **_):
        if stream_id is None:
            Stream._made += 1
            stream_id, device_index = Stream._made, _index(device)
        return super().__new__(cls, stream_id=stream_id, device_index=device_index, device_type=CUDA)

    def __init__(self, device=None, priority=0, **_):
        self.priority = priority

    wait_stream = wait_event = synchronize = nothing
    cuda_stream = native_handle = property(lambda stream: stream.stream_id)

    def query(self):
        return True

    def is_capturing(self):
        return False

    def record_event(self, event=None):
        return (event or Event()).record(self)

    def __enter__(self):
        _streams.append(self)
        return self

    def __exit__(self, *_):
        _streams.pop()


class Event(torch.Event):
    """Stands in for torch.cuda.Event. No time passes between two of them."""

    def __new__(cls, *_, **__):
        return super().__new__(cls, "cuda")

    __init__ = wait = synchronize = nothing

    def record(self, stream=None):
        return self

    def query(self):
        return True

    def elapsed_time(self, end):
        refuse("the time between two events is read, and nothing runs", "leave the measurement out for this capture")


class Graph:
    """Stands in for torch.cuda.CUDAGraph and what makes one."""

    def __init__(self, *_, **__):
        refuse("CUDA graphs replay what was recorded on a device", "capture the step without them")


class Generator(torch.Generator):
    """A generator of a device that is not there: its state is of no use, and fake tensors draw nothing."""

    def __new__(cls, device="cpu"):
        return super().__new__(cls, "cpu")

    def get_state(self):
        return torch.zeros(16, dtype=torch.uint8, device="cpu")

    def set_state(self, state):
        return self

    def clone_state(self):
        return self


_streams: list = []  # entered ones; the last is current


def _index(device):
    return device if isinstance(device, int) else torch.cuda._utils._get_device_index(device, optional=True)


def install(card, memory, devices):
    """`devices`: cards of this node that the script sees; its own is LOCAL_RANK once it says so."""
    cuda, native = torch.cuda, torch._C
    default = {}

    # Torch's guard for fake tensors holds the current device of each thread, also for operators in C++.
    get_device, exchange = native._accelerator_getDeviceIndex, native._accelerator_maybeExchangeDevice

    def set_device(device):
        if not 0 <= device < devices:
            raise RuntimeError(f"CUDA error: invalid device ordinal {device} (this node has {devices})")
        native._accelerator_setDeviceIndex(device)

    def statistics(device):
        here = torch.device("cuda", device)
        both = {"current": memory.allocated.get(here, 0), "peak": memory.peak.get(here, 0), "allocated": 0, "freed": 0}
        return {"allocated_bytes": {"all": both}, "reserved_bytes": {"all": both}, "active_bytes": {"all": both},
                "allocation": {"all": {"current": 0, "peak": 0, "allocated": memory.allocations, "freed": 0}}}

    def current_stream(device=None):
        return _streams[-1] if _streams else default.setdefault(_index(device), Stream(_index(device)))

    for name, answer in (("getDevice", get_device), ("setDevice", set_device), ("exchangeDevice", exchange),
                         ("maybeExchangeDevice", exchange), ("getDeviceCount", lambda: devices), ("synchronize", nothing),
                         ("emptyCache", nothing), ("memoryStats", statistics), ("resetPeakMemoryStats", lambda _=0: memory.reset_peak()),
                         ("resetAccumulatedMemoryStats", nothing), ("ipc_collect", nothing), ("canDeviceAccessPeer", lambda *_: True),
                         ("setMemoryFraction", nothing), ("sleep", nothing)):
        setattr(native, f"_cuda_{name}", answer)
    cuda._exchange_device = cuda._maybe_exchange_device = exchange
    cuda._lazy_init = cuda.init = nothing
    cuda._initialized = True
    cuda.is_available = cuda._check_bf16_tensor_supported = lambda device=None: True
    cuda.device_count = lambda: devices
    cuda.get_device_properties = cuda._get_device_properties = lambda device=None: card
    cuda.get_device_capability = lambda device=None: (card.major, card.minor)
    cuda.get_device_name = lambda device=None: card.name
    cuda.is_bf16_supported = lambda including_emulation=True: including_emulation or card.major >= 8
    cuda.is_tf32_supported = lambda: card.major >= 8
    cuda.mem_get_info = cuda.memory.mem_get_info = lambda device=None: (
        card.total_memory - memory.allocated.get(torch.device("cuda", _index(device)), 0), card.total_memory)
    cuda.memory_summary = cuda.memory.memory_summary = lambda *_, **__: f"{cuda.memory_allocated()} bytes of tensors"
    cuda.Stream = cuda.streams.Stream = torch.Stream = Stream
    cuda.Event = cuda.streams.Event = torch.Event = Event
    cuda.current_stream = cuda.default_stream = current_stream
    cuda.stream = cuda.StreamContext = lambda stream: stream or contextlib.nullcontext()
    cuda.is_current_stream_capturing = cuda.graphs.is_current_stream_capturing = lambda: False
    cuda.set_stream = torch.accelerator.set_stream = lambda stream: _streams.__setitem__(slice(None), [stream])
    cuda.default_generators = tuple(Generator() for _ in range(devices))
    cuda.CUDAGraph = cuda.graph = cuda.make_graphed_callables = Graph
    for name in ("range_push", "range_pop", "mark"):
        setattr(cuda.nvtx, name, nothing)
    torch.Generator = Generator
    torch.Tensor.record_stream = nothing
    torch.Tensor.pin_memory = lambda tensor, device=None: tensor
    torch.Tensor.is_pinned = lambda tensor, device=None: False
    accelerator = torch.accelerator
    accelerator.is_available = lambda: True
    accelerator.current_accelerator = lambda check_available=False: torch.device("cuda")
    accelerator.current_stream, accelerator.device_count = current_stream, cuda.device_count
    accelerator.synchronize = nothing
