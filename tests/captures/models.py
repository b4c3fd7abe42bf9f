"""Training steps of small whole models, as unlike each other as they come.

Where steps.py isolates one trap, these mix many: each was captured to try rules that had been made
without it.
"""

import torch
import torch.nn.functional as F
from torch import nn

import custom_operators  # noqa: F401, adds to the table
import embedding_bags  # noqa: F401, likewise
from steps import BUILDERS, builder, train  # noqa: F401, the same table for all


@builder
def mixture_of_experts():
    """Routing by top-k and where: how many tokens an expert gets depends on values."""
    gate = nn.Linear(32, 4)
    experts = nn.ModuleList(nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))
                            for _ in range(4))
    x, target = torch.randn(64, 32), torch.randn(64, 32)
    parameters = [*gate.parameters(), *experts.parameters()]

    def loss():
        weights, chosen = torch.topk(gate(x).softmax(-1), 2, dim=-1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(experts):
            token, place = torch.where(chosen == number)
            out = out.index_add(0, token, expert(x[token]) * weights[token, place].unsqueeze(-1))
        return F.mse_loss(out, target)

    return train(parameters, loss, torch.optim.AdamW(parameters, 1e-3))


@builder
def grouped_experts():
    """Experts in one _grouped_mm: where the rows of each end is a running sum of a bincount."""
    gate = nn.Linear(32, 8)
    up, down = (nn.Parameter(torch.randn(8, *shape, dtype=torch.bfloat16) / 8)
                for shape in ((32, 64), (64, 32)))
    x, target = torch.randn(64, 32), torch.randn(64, 32)
    parameters = [*gate.parameters(), up, down]

    def loss():
        weights, chosen = torch.topk(gate(x).softmax(-1), 2, dim=-1)
        order = chosen.flatten().argsort(stable=True)
        ends = torch.bincount(chosen.flatten(), minlength=8).cumsum(0).to(torch.int32)
        hidden = F.silu(torch._grouped_mm(x[order // 2].bfloat16(), up, offs=ends))
        rows = torch._grouped_mm(hidden, down, offs=ends).float()
        out = torch.zeros_like(x).index_add(0, order // 2,
                                            rows * weights.flatten()[order].unsqueeze(-1))
        return F.mse_loss(out, target)

    return train(parameters, loss, torch.optim.AdamW(parameters, 1e-3))


@builder
def graph():
    """Messages along random edges: scatter, gather by index, bincount."""
    first, second = nn.Linear(16, 32), nn.Linear(32, 5)
    source, goal = torch.randint(0, 100, (600,)), torch.randint(0, 100, (600,))
    x, target = torch.randn(100, 16), torch.randint(0, 5, (100,))
    parameters = [*first.parameters(), *second.parameters()]

    def loss():
        hidden = first(x)
        sums = torch.zeros(100, 32).scatter_add_(0, goal.unsqueeze(1).expand(-1, 32),
                                                 hidden[source])
        degrees = torch.bincount(goal, minlength=100).clamp(min=1).unsqueeze(1)
        return F.cross_entropy(second(F.relu(sums / degrees)), target)

    return train(parameters, loss, torch.optim.Adagrad(parameters))


@builder
def diffusion():
    """Noise by random steps: the schedule is indexed, and the step embedded."""
    down, up = nn.Conv2d(3, 16, 3, 2, 1), nn.ConvTranspose2d(16, 3, 4, 2, 1)
    norm, embed = nn.GroupNorm(4, 16), nn.Embedding(1000, 16)
    x = torch.randn(2, 3, 32, 32)
    kept = (1 - torch.linspace(1e-4, 0.02, 1000)).cumprod(0)
    parameters = [*down.parameters(), *up.parameters(), *norm.parameters(), *embed.parameters()]

    def loss():
        steps = torch.randint(0, 1000, (2,))
        noise = torch.randn_like(x)
        share = kept[steps].view(-1, 1, 1, 1)
        noisy = share.sqrt() * x + (1 - share).sqrt() * noise
        hidden = F.silu(norm(down(noisy))) + embed(steps)[:, :, None, None]
        return F.mse_loss(up(hidden), noise)

    return train(parameters, loss, torch.optim.Adam(parameters, 1e-3, fused=True))


@builder
def translation():
    """Encoder and decoder under autocast, tied embeddings, a causal mask of minus infinity."""
    model = nn.Transformer(32, 4, 1, 1, 64, 0.0, batch_first=True)
    embed = nn.Embedding(200, 32)
    source, target = torch.randint(0, 200, (4, 12)), torch.randint(0, 200, (4, 10))
    parameters = [*model.parameters(), *embed.parameters()]

    def loss():
        with torch.autocast("cpu", torch.bfloat16):
            mask = nn.Transformer.generate_square_subsequent_mask(10)
            out = model(embed(source), embed(target), tgt_mask=mask)
            scores = (out @ embed.weight.T).float()
        return F.cross_entropy(scores.flatten(0, 1), target.flatten(), ignore_index=0)

    return train(parameters, loss, torch.optim.AdamW(parameters, 1e-3))


@builder
def packed_sequences():
    """Lengths that must fall and add up; a bidirectional GRU over the packed rows."""
    model = nn.GRU(8, 16, bidirectional=True)
    x, lengths = torch.randn(9, 4, 8), torch.tensor([9, 7, 5, 3])

    def loss():
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths)
        out, _ = nn.utils.rnn.pad_packed_sequence(model(packed)[0])
        return out.pow(2).mean()

    return train(model.parameters(), loss, torch.optim.RAdam(model.parameters()))


@builder
def contrastive():
    """A masked diagonal, and Adafactor, whose denominators are products of means."""
    model = nn.Sequential(nn.Linear(20, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16))
    x = torch.randn(24, 20)
    target = torch.cat([torch.arange(24, 48), torch.arange(24)])

    def loss():
        pair = torch.cat([model(x), model(x + 0.1 * torch.randn_like(x))])
        near = F.normalize(pair, dim=1)
        scores = near @ near.T / 0.1
        scores = scores.masked_fill(torch.eye(48, dtype=torch.bool), float("-inf"))
        return F.cross_entropy(scores, target)

    return train(model.parameters(), loss, torch.optim.Adafactor(model.parameters()))


@builder
def detection():
    """Positives by mask, hard negatives by sort, candidates by top-k; torch.tensor in ASGD."""
    body, classes, boxes = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 4, 1), nn.Conv2d(8, 4, 1)
    x = torch.randn(2, 3, 32, 32)
    label, place = torch.randint(0, 4, (2, 256)), torch.rand(2, 256, 4)
    parameters = [*body.parameters(), *classes.parameters(), *boxes.parameters()]

    def loss():
        hidden = F.relu(body(x))
        scores = classes(hidden).flatten(2).transpose(1, 2)
        found = boxes(hidden).flatten(2).transpose(1, 2)
        positive = label > 1
        losses = F.cross_entropy(scores.transpose(1, 2), label, reduction="none")
        hardest, _ = losses.masked_fill(positive, 0).flatten().sort(descending=True)
        best = scores.softmax(-1).max(-1)[0].flatten().topk(20)[1]
        return (hardest[:int(positive.sum())].mean() + losses[positive].mean()
                + F.smooth_l1_loss(found[positive], place[positive])
                + 0.01 * found.flatten(0, 1)[best].pow(2).mean())

    return train(parameters, loss, torch.optim.ASGD(parameters))


@builder
def speech_ctc():
    """CTC: labels above the blank, lengths of inputs and targets."""
    body, head = nn.Conv3d(1, 4, 3, padding=1), nn.Linear(4, 6)
    pool = nn.AdaptiveAvgPool3d((8, 1, 1))
    x, label = torch.randn(2, 1, 8, 6, 6), torch.randint(1, 6, (2, 3))

    def loss():
        rows = pool(F.relu(body(x))).flatten(2).permute(2, 0, 1)
        return F.ctc_loss(head(rows).log_softmax(-1), label, torch.full((2,), 8),
                          torch.full((2,), 3))

    return train([*body.parameters(), *head.parameters()], loss)


@builder
def adaptive_softmax():
    """Classes in clusters: a mask of a cluster's words selects them, and they count from its first."""
    body = nn.Sequential(nn.Linear(16, 24), nn.Tanh())
    head = nn.AdaptiveLogSoftmaxWithLoss(24, 60, [10, 30], div_value=2.0)
    x, word = torch.randn(40, 16), torch.randint(0, 60, (40,))
    return train([*body.parameters(), *head.parameters()], lambda: head(body(x), word).loss)


@builder
def tangents():
    """Forward derivatives through layers: weights and biases have zeros without memory as theirs."""
    from torch.func import jvp

    body = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 16), nn.Softplus(),
                         nn.Linear(16, 1))
    x, direction = torch.rand(12, 3), torch.ones(12, 3)

    def loss():
        value, slope = jvp(body, (x,), (direction,))
        return (slope - value).square().mean()

    return train(body.parameters(), loss)


@builder
def double_default():
    """Doubles are the default: what is made without a type, and whole numbers that are divided."""
    torch.set_default_dtype(torch.float64)
    body = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))

    def loss():
        x, time = torch.randn(20, 6), torch.arange(20) / 20
        return (body(x).squeeze(1) - torch.sin(time)).square().mean()

    return train(body.parameters(), loss)
