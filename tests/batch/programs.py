"""Steps whose batch is changed: programs.py NAME BATCH FOLDER captures the step of a batch.

`generate --batch` on the capture of one batch is held against the capture of another (tests/batch/held).
"""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def train(module, loss, rate=0.01):
    optimizer = torch.optim.SGD(module.parameters(), lr=rate)

    def step():
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    return step


@program
def rounding(batch):
    layer, x = nn.Linear(12, 8), torch.randn(batch, 12)
    return train(layer, lambda: (torch.round(x * 4) / 4 * 2 + torch.floor_divide(x, 0.5)).matmul(layer.weight.t()).abs().mean())


@program
def vector_norm(batch):
    layer, x, other = nn.Linear(12, 8), torch.randn(batch, 12), torch.randn(batch, 8)
    return train(layer, lambda: torch.linalg.vector_norm(layer(x), dim=1).sum() + F.cosine_similarity(layer(x), other).mean())


@program
def reflection_pad(batch):
    layer, x = nn.Conv1d(3, 5, 3, padding=1, padding_mode="reflect"), torch.randn(batch, 3, 16)
    return train(layer, lambda: F.interpolate(layer(x), scale_factor=2.0, mode="linear").square().mean())


@program
def scaled_products(batch):
    left, right = torch.randn(batch, 32).to(torch.float8_e4m3fn), torch.randn(16, 32).to(torch.float8_e4m3fn).t()
    scale, sums = torch.ones(()), torch.zeros(16)

    def step():
        sums.add_(torch._scaled_mm(left, right, scale, scale, out_dtype=torch.bfloat16).float().sum(0))
    return step


@program
def masked_scatter(batch):
    table, x = nn.Embedding(50, 12), torch.randint(0, 50, (batch, 6))
    mask, images = torch.zeros(batch, 6, 12, dtype=torch.bool), torch.randn(batch, 24)
    mask[:, 2:4] = True

    def loss():
        rows = table(x) * 1.0
        return rows.masked_scatter_(mask, images.view(-1, 12)).square().mean()
    return train(table, loss)


@program
def instance_norm(batch):
    layer = nn.Sequential(nn.Conv2d(3, 8, 3), nn.InstanceNorm2d(8, affine=True), nn.ReLU())
    x = torch.randn(batch, 3, 10, 10)
    return train(layer, lambda: layer(x).mean())


@program
def windows(batch):
    layer, x = nn.Linear(8, 4), torch.randn(batch, 20)
    return train(layer, lambda: layer(x.as_strided((batch, 4, 8), (20, 4, 1))).square().mean() + layer(x.unfold(1, 8, 4)).mean())


@program
def double_backward(batch):
    layer, x = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)), torch.randn(batch, 8, requires_grad=True)

    def loss():
        (slope,) = torch.autograd.grad(layer(x).sum(), x, create_graph=True)
        return (slope.norm(dim=1) - 1).square().mean()
    return train(layer, loss)


@program
def experts(batch):
    """A product of all experts with all tokens, weighted by a router's best two."""
    module = nn.Module()
    module.router, module.weights = nn.Linear(16, 4), nn.Parameter(torch.randn(4, 16, 16))
    x = torch.randn(batch, 6, 16)

    def loss():
        tokens = x.reshape(-1, 16)
        values, chosen = torch.topk(module.router(tokens).softmax(-1), 2)
        shares = torch.zeros(tokens.shape[0], 4).scatter(1, chosen, values)
        return torch.einsum("td,edf,te->tf", tokens, module.weights, shares).square().mean()
    return train(module, loss)


@program
def heads_as_many(batch):
    """Four heads: a batch of four is no number of heads."""
    layer = nn.TransformerEncoderLayer(16, 4, 32, 0.1, batch_first=True)
    x = torch.randn(batch, 5, 16)
    return train(layer, lambda: layer(x).square().mean())


@program
def recurrent(batch):
    layer, x, target = nn.LSTM(6, 10, 2, bidirectional=True), torch.randn(7, batch, 6), torch.randn(batch, 20)
    return train(layer, lambda: F.mse_loss(layer(x.transpose(0, 1).transpose(0, 1))[0][-1], target))


@program
def speech(batch):
    layer, x = nn.Linear(5, 9), torch.randn(batch, 12, 5)
    labels, lengths, wanted = torch.randint(1, 9, (batch, 4)), torch.full((batch,), 12), torch.full((batch,), 4)
    return train(layer, lambda: F.ctc_loss(layer(x).transpose(0, 1).log_softmax(-1), labels, lengths, wanted))


@program
def pairs(batch):
    """Each sample against each other: two dimensions of a tensor grow."""
    layer, x = nn.Linear(12, 8), torch.randn(batch, 12)

    def loss():
        rows = F.normalize(layer(x), dim=1)
        return F.cross_entropy(rows @ rows.t() / 0.1, torch.arange(batch))
    return train(layer, loss)


@program
def bags(batch):
    table, numbers = nn.EmbeddingBag(40, 8, mode="sum"), torch.randint(0, 40, (batch * 3,))
    starts, weights = torch.arange(0, batch * 3, 3), torch.randn(batch, 8)
    return train(table, lambda: (table(numbers, starts) * weights).mean())


@program
def spectra(batch):
    layer, x = nn.Linear(9, 4), torch.randn(batch, 16)
    return train(layer, lambda: layer(torch.fft.rfft(x).abs()).mean())


@program
def decoding(batch):
    """A cache that the step writes has the batch, too."""
    layer, x, cache, at = nn.Linear(16, 16), torch.randn(batch, 1, 16), torch.zeros(batch, 2, 12, 8), torch.tensor([5])

    def step():
        with torch.no_grad():
            rows = layer(x).view(batch, 1, 2, 8).transpose(1, 2)
            cache.index_copy_(2, at, rows)
            F.scaled_dot_product_attention(rows, cache, cache).transpose(1, 2).reshape(batch, 16)
    return step


@program
def halves(batch):
    """A batch in equal parts, and their means."""
    layer, x = nn.Linear(12, 8), torch.randn(batch, 12)

    def loss():
        first, second = layer(x).chunk(2)
        return torch.stack([part.std(0) for part in (first, second)]).sum() + torch.cat([second, first]).cumsum(0).mean()
    return train(layer, loss)


@program
def made_noise(batch):
    """Noise and times are made in the step."""
    layer, x = nn.Linear(12, 12), torch.randn(batch, 12)

    def loss():
        noise, times = torch.randn_like(x), torch.rand(batch, 1)
        return F.smooth_l1_loss(layer(x * times + noise * (1 - times)), noise) + torch.randn(batch, 3).mean() * 0
    return train(layer, loss)


@program
def drawn_tokens(batch):
    module = nn.Sequential(nn.Embedding(512, 24), nn.Linear(24, 512))

    def loss():
        tokens = torch.randint(0, 512, (batch, 65))
        return F.cross_entropy(module(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
    return train(module, loss)


@program
def images_in_text(batch):
    """Patches of images take the places of some tokens: their gradient has a size of its own."""
    patches, module, images = nn.Conv2d(3, 24, 8, 8), nn.Sequential(nn.Embedding(50, 24), nn.Linear(24, 7)), torch.randn(batch, 3, 32, 32)
    mask, tokens = torch.zeros(batch, 20, 1, dtype=torch.bool), torch.randint(0, 50, (batch, 20))
    mask[:, :16] = True

    def loss():
        rows = patches(images).flatten(2).transpose(1, 2).reshape(-1, 24)
        return module[1](module[0](tokens).masked_scatter(mask, rows)).square().mean()
    return train(nn.ModuleList([patches, module]), loss)


@program
def paged_cache(batch):
    """What the step draws is written to places that it reads of tables."""
    pool, table, blocks = torch.zeros(64, 2, 8), nn.Embedding(32, 8), torch.arange(4 * batch).view(batch, 4) % 16

    def step():
        with torch.no_grad():
            lengths, rows = torch.randint(4, 12, (batch,)), table(torch.randint(0, 32, (batch,)))
            for _ in range(2):
                places = blocks[torch.arange(batch), lengths // 4] * 4 + lengths % 4
                pool.index_put_((places,), torch.stack([rows, rows], 1))
                rows = table((rows @ table.weight.t()).topk(4, -1)[1][:, 0])
                lengths = lengths + 1
    return step


def main():
    name, batch, folder = sys.argv[1:]
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "capture"))
    import understudy
    torch.set_num_threads(1)
    torch.manual_seed(20)
    understudy.capture_step(PROGRAMS[name](int(batch)), folder, warmup=2, timed=0, profiled=0, step_marker=False)


if __name__ == "__main__":
    main()
