"""The same embedding bags; the row of rank k is met in proportion to k^-1.05."""

import torch

import common
import embedding

ALPHA = 1.05


def build():
    ranks = torch.arange(1, embedding.ROWS + 1, dtype=torch.float64)
    reached = torch.cumsum(ranks.pow(-ALPHA), 0)

    def draw(count):
        at = torch.rand(count, dtype=torch.float64) * reached[-1]
        return torch.searchsorted(reached, at).clamp_(max=embedding.ROWS - 1)

    return embedding.build(draw)


if __name__ == "__main__":
    common.run(build, __doc__)
