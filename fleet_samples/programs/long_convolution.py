"""A state-space sequence model: long convolutions through Fourier transforms, gates, RMSprop."""

import torch
import torch.nn.functional as F
from torch import nn

import common

BATCH, LENGTH, CHANNELS, STATES, LAYERS, CLASSES = 4, 1024, 96, 16, 4, 12


class LongConvolution(nn.Module):
    """y = x * k, with a kernel that is a sum of damped oscillations."""

    def __init__(self):
        super().__init__()
        self.log_decay = nn.Parameter(torch.rand(CHANNELS, STATES).mul(3).sub(5))
        self.frequency = nn.Parameter(torch.rand(CHANNELS, STATES).mul(3.0))
        self.mix = nn.Parameter(torch.randn(CHANNELS, STATES, 2) / STATES)
        self.skip = nn.Parameter(torch.randn(CHANNELS))

    def forward(self, x):
        time = torch.arange(LENGTH, device=x.device)
        exponent = torch.complex(-self.log_decay.exp(), self.frequency)
        powers = torch.exp(exponent.unsqueeze(-1) * time)
        kernel = torch.einsum("cn,cnl->cl", torch.view_as_complex(self.mix), powers).real
        spectrum = torch.fft.rfft(x, n=2 * LENGTH) * torch.fft.rfft(kernel, n=2 * LENGTH)
        return torch.fft.irfft(spectrum, n=2 * LENGTH)[..., :LENGTH] + self.skip[:, None] * x


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(CHANNELS))
        self.convolution = LongConvolution()
        self.gate = nn.Conv1d(CHANNELS, 2 * CHANNELS, 1)

    def forward(self, x):
        y = x * torch.rsqrt(x.square().mean(dim=1, keepdim=True) + 1e-6) * self.scale[:, None]
        return x + F.glu(self.gate(F.silu(self.convolution(y))), dim=1)


def build():
    model = nn.Sequential(nn.Conv1d(3, CHANNELS, 5, padding=2), *(Block() for _ in range(LAYERS)),
                          nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(CHANNELS, CLASSES))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-4, momentum=0.9, centered=True)
    batch = common.cycling(lambda: (torch.randn(BATCH, 3, LENGTH),
                                    torch.randint(0, CLASSES, (BATCH,))))
    return common.training(optimizer, batch, lambda x, target: F.cross_entropy(
        model(x), target, label_smoothing=0.1))


if __name__ == "__main__":
    common.run(build, __doc__)
