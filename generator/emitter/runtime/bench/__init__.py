"""The runtime of an emitted Python benchmark: makes tensors, times a step and writes a report."""

from . import import_torch  # noqa: F401, first of all
from .comms import communicate
from .operators import operators, row
from .run import run
from .tensors import MAKER, another, device, relayout
from .values import (arange, bernoulli, constant, dominant, integers, lengths, mask, normal, offsets, reuse, targets,
                     uniform, zeros)

tensor, view, number = MAKER.tensor, MAKER.view, MAKER.number
changes, varies, had_zeros = MAKER.changes, MAKER.varies, MAKER.had_zeros

__all__ = ["another", "arange", "bernoulli", "changes", "communicate", "constant", "device", "dominant", "had_zeros", "integers",
           "lengths", "mask", "normal", "number", "offsets", "operators", "relayout", "reuse", "row", "run", "targets", "tensor",
           "uniform", "varies", "view", "zeros"]
