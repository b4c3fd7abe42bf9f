"""Every combination of what an embedding bag can be asked for, a trace each.

Mode, the last offset included or not, sparse gradients or dense, weights of the samples, bags without
an index; with padding_idx a few more. Indices are skewed, as in click logs.
"""

import itertools

import torch
from torch import nn

from steps import BUILDERS

ROWS = 40
INDICES = 24
WITHOUT_EMPTY = [0, 3, 7, 8, 15, 20]
WITH_EMPTY = [0, 0, 7, 7, 15, 24]  # the first, one in the middle, the last


def skewed_indices():
    return (torch.rand(INDICES).pow(3) * ROWS).long()


def make_builder(mode, include_last, sparse, weighted, has_empty, padding):
    def build():
        bag = nn.EmbeddingBag(ROWS, 4, mode=mode, include_last_offset=include_last, sparse=sparse,
                              padding_idx=0 if padding else None)
        optimizer = (torch.optim.SparseAdam if sparse else torch.optim.Adam)([bag.weight], lr=1e-3)
        starts = WITH_EMPTY if has_empty else WITHOUT_EMPTY
        offsets = torch.tensor(starts + [INDICES] if include_last else starts)
        index = skewed_indices()
        weights = torch.rand(INDICES, requires_grad=True) if weighted else None

        def step():
            optimizer.zero_grad()
            if weighted:
                weights.grad = None
            bag(index, offsets, per_sample_weights=weights).sum().backward()
            optimizer.step()

        return step

    return build


def add_builders():
    switches = itertools.product([False, True], repeat=5)
    for mode, (include_last, sparse, weighted, has_empty, padding) in itertools.product(
            ("sum", "mean", "max"), switches):
        # PyTorch refuses the others.
        if (weighted and mode != "sum") or (sparse and mode == "max"):
            continue
        # What is hidden goes with either kind of gradient; once of each is enough.
        if padding and (weighted or has_empty or not include_last):
            continue
        parts = [mode, include_last and "last", sparse and "sparse", weighted and "weighted",
                 has_empty and "empty", padding and "padding"]
        name = "embedding_bag/" + "_".join(part for part in parts if part)
        BUILDERS[name] = make_builder(mode, include_last, sparse, weighted, has_empty, padding)


add_builders()
