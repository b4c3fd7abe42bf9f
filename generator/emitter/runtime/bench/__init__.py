"""The runtime of an emitted Python benchmark: makes tensors, times a step and writes a report."""

from . import import_torch  # noqa: F401, first of all
from .comms import communicate
from .operators import Operator, ops
from .run import run
from .tensors import another, device, number, relayout, relayout_as
from .values import (arange, bernoulli, constant, dominant, integers, lengths, mask, normal, offsets, reuse, targets,
                     uniform, zeros)

__all__ = ["Operator", "another", "arange", "bernoulli", "communicate", "constant", "device", "dominant", "integers",
           "lengths", "mask", "normal", "number", "offsets", "ops", "relayout", "relayout_as", "reuse", "run",
           "targets", "uniform", "zeros"]
