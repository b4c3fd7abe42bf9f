"""Two networks against each other: transposed convolutions, a gradient of a gradient, an average."""

import torch
import torch.nn.functional as F
from torch import nn

import common

BATCH, NOISE, WIDTH, SIDE = 12, 64, 48, 32


def generator():
    def up(inputs, outputs):
        return [nn.ConvTranspose2d(inputs, outputs, 4, stride=2, padding=1, bias=False),
                nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]

    return nn.Sequential(nn.Linear(NOISE, 4 * WIDTH * 16), nn.Unflatten(1, (4 * WIDTH, 4, 4)),
                         *up(4 * WIDTH, 2 * WIDTH), *up(2 * WIDTH, WIDTH), nn.Upsample(scale_factor=2, mode="bilinear"),
                         nn.Conv2d(WIDTH, 3, 3, padding=1), nn.Tanh())


def judge():
    def down(inputs, outputs):
        return [nn.utils.parametrizations.spectral_norm(
                    nn.Conv2d(inputs, outputs, 4, stride=2, padding=1)),
                nn.InstanceNorm2d(outputs, affine=True), nn.LeakyReLU(0.2)]

    return nn.Sequential(nn.ReflectionPad2d(1), nn.AvgPool2d(3, stride=1), *down(3, WIDTH),
                         *down(WIDTH, 2 * WIDTH), nn.PReLU(2 * WIDTH), nn.Flatten(),
                         nn.Linear(2 * WIDTH * 64, 1))


def build():
    maker, critic = generator(), judge()
    average = torch.optim.swa_utils.AveragedModel(
        maker, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99))
    of_maker = torch.optim.RMSprop(maker.parameters(), lr=1e-4, momentum=0.5, centered=True)
    of_critic = torch.optim.Adam(critic.parameters(), lr=1e-4, betas=(0.0, 0.9), maximize=False)
    batch = common.cycling(lambda: torch.rand(BATCH, 3, SIDE, SIDE) * 2 - 1)

    def slope(real, made):
        between = torch.lerp(real, made, torch.rand(BATCH, 1, 1, 1)).requires_grad_()
        gradient, = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        return (torch.linalg.vector_norm(gradient.flatten(1), dim=1) - 1).square().mean()

    def step():
        real = batch()
        made = maker(torch.randn(BATCH, NOISE))
        of_critic.zero_grad()
        loss = critic(made.detach()).mean() - critic(real).mean()
        (loss + 10 * slope(real, made.detach())).backward()
        of_critic.step()
        of_maker.zero_grad()
        F.softplus(-critic(made)).mean().backward()
        of_maker.step()
        average.update_parameters(maker)

    return step


if __name__ == "__main__":
    common.run(build, __doc__)
