"""Zeros in the original's optimizer states: rows of tables that no batch had used yet."""

import torch


def rows_of(tensor):
    """Returns a view as rows along the last dimension. The gradient of a lookup writes whole rows."""
    return tensor.reshape(-1, 1) if tensor.dim() < 2 else tensor.reshape(-1, tensor.size(-1))


class Zeros:
    """A tensor, and the share of zeros that it had in the original. Zeros are placed where steps write nothing: call clear(), run some
    steps, call find(), and call apply() on the first content."""

    def __init__(self, tensor, share):
        self.tensor, self.share, self.written = tensor, share, None

    def clear(self):
        self.tensor.zero_()

    def find(self):
        self.written = rows_of(self.tensor.ne(0)).any(1)
        wanted = int((1 - self.share) * self.written.numel() + 0.5)
        # Adds some of the unwritten rows, evenly spread. Both moments of a parameter get the same rows.
        others = self.written.logical_not().nonzero().flatten()
        most = min(wanted - int(self.written.sum()), others.numel())
        if most > 0:
            spread = torch.arange(most, device=others.device) * others.numel() // most
            self.written[others[spread]] = True

    def apply(self):
        rows_of(self.tensor).masked_fill_(self.written.logical_not().unsqueeze(1), 0)
