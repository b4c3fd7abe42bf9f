"""The runtime of an emitted Python benchmark: makes tensors, times a step and writes a report."""

from .comms import communicate
from .operators import Operator
from .run import run
from .tensors import another, device, number, relayout, relayout_as
from .values import (arange, bernoulli, constant, dominant, integers, lengths, mask, normal, offsets, reuse, targets,
                     uniform, zeros)

__all__ = ["Operator", "another", "arange", "bernoulli", "communicate", "constant", "device", "dominant", "integers",
           "lengths", "mask", "normal", "number", "offsets", "relayout", "relayout_as", "reuse", "run",
           "targets", "uniform", "zeros"]
