"""Settings that decide which kernels PyTorch selects: its switches, and its libraries' variables.

The names are those that the replay knows (docs/capture.md, "What is written"); every value is text.
"""

from __future__ import annotations

import contextlib
import os

import torch

SWITCHES = {
    "fp16_accumulation": "_get_cublas_allow_fp16_accumulation",
    "cudnn.enabled": "_get_cudnn_enabled",
    "cudnn.benchmark": "_get_cudnn_benchmark",
    "cudnn.deterministic": "_get_cudnn_deterministic",
    "mkldnn.enabled": "_get_mkldnn_enabled",
    "mkldnn.deterministic": "_get_mkldnn_deterministic",
    "sdp.flash": "_get_flash_sdp_enabled",
    "sdp.mem_efficient": "_get_mem_efficient_sdp_enabled",
    "sdp.math": "_get_math_sdp_enabled",
    "sdp.cudnn": "_get_cudnn_sdp_enabled",
}
REDUCTIONS = {
    "fp16_reduction": "_get_cublas_allow_fp16_reduced_precision_reduction",
    "bf16_reduction": "_get_cublas_allow_bf16_reduced_precision_reduction",
}
ATTENTIONS = ["math", "flash", "mem_efficient", "cudnn", "overrideable"]  # indexed by at::SDPBackend
PRECISIONS = [(library, op) for library in ("cuda", "mkldnn") for op in ("matmul", "conv", "rnn")]
# Variables that tune NCCL; its others name the interfaces, addresses and paths of this host.
NCCL_TUNING = frozenset(f"NCCL_{name}" for name in (
    "ALGO PROTO NTHREADS MIN_NCHANNELS MAX_NCHANNELS MIN_NRINGS MAX_NRINGS MIN_CTAS MAX_CTAS "
    "CGA_CLUSTER_SIZE NCHANNELS_PER_NET_PEER NCHANNELS_PER_PEER MIN_P2P_NCHANNELS "
    "MAX_P2P_NCHANNELS BUFFSIZE LL_BUFFSIZE LL128_BUFFSIZE P2P_NET_CHUNKSIZE "
    "P2P_PCI_CHUNKSIZE P2P_NVL_CHUNKSIZE NVLS_CHUNKSIZE NVLS_ENABLE NVLS_NCHANNELS "
    "CUMEM_ENABLE CUMEM_HOST_ENABLE LAUNCH_MODE LAUNCH_ORDER_IMPLICIT LAUNCH_RACE_FATAL "
    "GRAPH_MIXING_SUPPORT GRAPH_REGISTER LOCAL_REGISTER WORK_FIFO_BYTES WORK_ARGS_BYTES "
    "THREAD_THRESHOLDS SINGLE_RING_THRESHOLD TREE_THRESHOLD PROGRESS_APPENDOP_FREQ "
    "RUNTIME_CONNECT CTA_POLICY CHECKS_DISABLE CHECK_POINTERS CREATE_THREAD_CONTEXT "
    "PXN_DISABLE P2P_PXN_LEVEL COLLNET_NODE_THRESHOLD").split())
KEPT = "kept on its host"
VARIABLE_PREFIXES = (
    "OMP_", "MKL_", "KMP_", "MALLOC_", "TORCH_NUM_", "CUBLAS", "CUDNN_", "NCCL_", "TORCH_NCCL_",
    "TORCH_BLAS_", "PYTORCH_CUDA_ALLOC", "PYTORCH_ALLOC", "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_LAUNCH_BLOCKING", "NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE")


def _switch(value):
    return "on" if value else "off"


def _reduction(value):
    reduced, split_k = value if isinstance(value, tuple) else (value, True)
    return "on" if reduced else "off" if split_k else "off without split-k"


def _deterministic():
    if not torch.are_deterministic_algorithms_enabled():
        return "off"
    return "warn" if torch.is_deterministic_algorithms_warn_only_enabled() else "on"


def kernel_settings():
    """Returns name → value of each switch that this torch has."""
    settings = {}

    def read(name, get):
        # This torch may lack a switch, or reject one of two names for the same switch.
        with contextlib.suppress(AttributeError, IndexError, RuntimeError, TypeError, ValueError):
            settings[name] = get()

    read("float32_matmul_precision", torch.get_float32_matmul_precision)
    for library, op in PRECISIONS:
        read(f"fp32_precision.{library}.{op}",
             lambda library=library, op=op: torch._C._get_fp32_precision_getter(library, op))
    for name, getter in SWITCHES.items():
        read(name, lambda getter=getter: _switch(getattr(torch._C, getter)()))
    for name, getter in REDUCTIONS.items():
        read(name, lambda getter=getter: _reduction(getattr(torch._C, getter)()))
    read("cudnn.benchmark_limit", lambda: str(torch._C._cuda_get_cudnn_benchmark_limit()))
    read("sdp.priority", lambda: " ".join(ATTENTIONS[i] for i in torch._C._get_sdp_priority_order()))
    read("blas_library", lambda: torch._C._get_blas_preferred_backend().name.lower())
    read("deterministic_algorithms", _deterministic)
    read("threads", lambda: str(torch.get_num_threads()))
    return settings


def kernel_variables():
    """Returns the environment variables that decide kernels or threads, except those that hold a path. NCCL's variables keep
    their value only if they tune it."""
    return {name: KEPT if name.startswith("NCCL_") and name not in NCCL_TUNING else value
            for name, value in sorted(os.environ.items())
            if name.startswith(VARIABLE_PREFIXES) and "/" not in value}


class AutocastSeen(contextlib.AbstractContextManager):
    """Records which autocast regions a program enters: "cuda:bfloat16"."""

    def __init__(self):
        self.regions = set()

    def __enter__(self):
        self._original = original = torch.autocast.__enter__
        regions = self.regions

        def enter(region):
            if region._enabled:
                regions.add(f"{region.device}:{str(region.fast_dtype).removeprefix('torch.')}")
            return original(region)

        torch.autocast.__enter__ = enter
        return self

    def __exit__(self, *_):
        torch.autocast.__enter__ = self._original
