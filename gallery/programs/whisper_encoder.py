"""The encoder of Whisper small: 30 seconds of sound, served in half precision."""

import torch
from torch import nn

import shared

CUDA = {"batch": 8, "frames": 3000, "width": 768, "heads": 12, "layers": 12}
CPU = {"batch": 1, "frames": 200, "width": 64, "heads": 2, "layers": 2}


class Encoder(nn.Module):
    def __init__(self, of):
        super().__init__()
        self.front = nn.Sequential(nn.Conv1d(80, of.width, 3, padding=1), nn.GELU(),
                                   nn.Conv1d(of.width, of.width, 3, stride=2, padding=1), nn.GELU())
        self.register_buffer("positions", torch.randn(of.frames // 2, of.width))
        self.encoder = shared.encoder(of.width, of.heads, of.layers)

    def forward(self, sound):
        return self.encoder(self.front(sound).transpose(1, 2) + self.positions)


def build():
    of = shared.sizes(CUDA, CPU)
    return shared.serve(Encoder(of), lambda dtype: (torch.randn(of.batch, 80, of.frames, dtype=dtype),))


if __name__ == "__main__":
    shared.common.run(build, __doc__)
