"""Private training: each example's own gradient by vmap, cut and blurred; weights as 8-bit numbers."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, vmap

import common

BATCH, SIDE, CLASSES, LIMIT, NOISE = 256, 28, 10, 1.0, 0.8


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 16, 5, stride=2)
        self.second = nn.Conv2d(16, 32, 3, stride=2)
        self.third = nn.Linear(32 * 25, 64)
        self.last = nn.Linear(64, CLASSES)

    def forward(self, x):
        x = F.max_pool2d(F.mish(self.first(x)), 2, stride=1)
        return self.last(torch.tanh(self.third(F.hardswish(self.second(x)).flatten(1))))


def rounded(weight):
    """As 8-bit numbers would have it; the gradient passes as if nothing had been rounded."""
    scale = weight.detach().abs().amax().item() / 127 + 1e-12
    return torch.fake_quantize_per_tensor_affine(weight, scale, 0, -128, 127)


def build():
    model = Network()
    parameters = {name: p.detach().clone() for name, p in model.named_parameters()}
    velocity = {name: torch.zeros_like(p) for name, p in parameters.items()}
    batch = common.cycling(lambda: (torch.randn(BATCH, 1, SIDE, SIDE),
                                    torch.randint(0, CLASSES, (BATCH,))))

    def loss_of(weights, x, label):
        return F.cross_entropy(functional_call(model, weights, (x.unsqueeze(0),)), label.unsqueeze(0))

    each = vmap(grad(loss_of), in_dims=(None, 0, 0))

    def step():
        x, labels = batch()
        gradients = each({name: rounded(p) for name, p in parameters.items()}, x, labels)
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in gradients.values()]).norm(dim=0)
        factors = (LIMIT / (norms + 1e-6)).clamp(max=1.0)
        for name, gradient in gradients.items():
            total = torch.einsum("i,i...->...", factors, gradient)
            total += NOISE * LIMIT * torch.randn_like(total)
            velocity[name].mul_(0.9).addcmul_(total, total.sign(), value=1.0 / BATCH)
            parameters[name].sub_(velocity[name], alpha=0.05)

    return step


if __name__ == "__main__":
    common.run(build, __doc__)
