"""One training step per trap that a trace can hold; make_captures.py records them.

Each builder sets up parameters once and returns the function that runs one step.
"""

import torch
import torch.nn.functional as F
from torch import nn

BUILDERS = {}


def builder(function):
    BUILDERS[function.__name__] = function
    return function


def train(parameters, loss_of, optimizer=None):
    """The usual step: clear the gradients, run, go back, update."""
    optimizer = optimizer or torch.optim.SGD(parameters, lr=0.01)

    def step():
        optimizer.zero_grad()
        loss_of().backward()
        optimizer.step()

    return step


@builder
def autocast():
    """Outer linear and matmul record float inputs; the casts to bfloat16 are inside of them."""
    body = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
    mix = nn.Parameter(torch.randn(16, 16))
    x, target = torch.randn(8, 16), torch.randn(8, 16)

    def loss():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = torch.matmul(body(x), mix)
        return F.mse_loss(y.float(), target)

    return train([*body.parameters(), mix], loss)


@builder
def wrapped_number():
    """Python numbers are recorded as 0-dim tensors, and promote differently from real ones."""
    weight = nn.Parameter(torch.randn(8, 8))
    x = torch.randn(8, 8)
    counts = torch.arange(8)
    real_double = torch.tensor(0.5, dtype=torch.float64)
    real_long = torch.tensor(2)

    def loss():
        a = x * 0.5 + 2
        b = (1 - a) / 3
        c = torch.matmul(b, weight) * real_double * real_long
        d = torch.where(c > 0, c, 0.0).clamp(min=0.0) ** 2
        halves = (x.bfloat16() * 1.5).float() + (x.half() * 0.1).float()
        whole = counts * 2 + real_long
        fractions = whole + 0.5  # an integer tensor and a float number: float
        positive = (counts > 3) + 1
        kept = torch.add(x, counts, alpha=2)
        wide = x.double() * 0.5
        rows = fractions + positive + whole // 2 + whole % 3
        return (d * rows + halves + kept).sum() + wide.sum() * 1e-3

    return train([weight], loss)


@builder
def data_dependent():
    """Output sizes depend on values; the consumers of those outputs must still fit."""
    weight = nn.Parameter(torch.randn(16, 4))
    x = torch.randn(16, 4)
    labels = torch.randint(0, 5, (16,))

    def loss():
        y = x * weight
        rows, columns = torch.nonzero(y > 0, as_tuple=True)
        picked = y[rows, columns]
        found = torch.where(labels > 1)[0]
        chosen = y.index_select(0, found)
        masked = torch.masked_select(y, y < 0)
        boolean = y[labels > 2]
        values, inverse, times = torch.unique(labels, return_inverse=True, return_counts=True)
        spread = values.float()[inverse] * times.float()[inverse]
        bins = torch.bincount(labels, minlength=5).float()
        total = chosen.sum() + masked.mean() + (boolean * 2).sum() + picked.pow(2).sum()
        return total + (y.sum(1) * spread).mean() + bins.max() * y.mean()

    return train([weight], loss)


@builder
def sparse_grad():
    """Sparse gradients have storage id 0 and no elements; how many values they hold is not told."""
    table_sgd = nn.Embedding(50, 8, sparse=True)
    table_adagrad = nn.Embedding(40, 8, sparse=True)
    table_adam = nn.Embedding(30, 8, sparse=True)
    index = torch.randint(0, 30, (12,))
    optimizers = [torch.optim.SGD(table_sgd.parameters(), lr=0.1),
                  torch.optim.Adagrad(table_adagrad.parameters(), lr=0.1),
                  torch.optim.SparseAdam(list(table_adam.parameters()), lr=0.1)]

    def step():
        for optimizer in optimizers:
            optimizer.zero_grad()
        out = table_sgd(index) * table_adagrad(index) + table_adam(index)
        out.pow(2).sum().backward()
        for optimizer in optimizers:
            optimizer.step()

    return step


@builder
def ignore_index():
    """A recorded range of [-100, C) means: ignored, or a class; nothing between."""
    head = nn.Linear(8, 10)
    x = torch.randn(24, 8)
    target = torch.randint(0, 10, (24,))
    target[::3] = -100
    image_target = torch.randint(0, 10, (2, 3, 4))
    image_target[0, 0] = 7

    def loss():
        logits = head(x)
        plain = F.cross_entropy(logits, target)
        smooth = F.cross_entropy(logits, target, label_smoothing=0.1)
        image = F.cross_entropy(logits.view(2, 3, 4, 10).permute(0, 3, 1, 2), image_target,
                                ignore_index=7)
        return plain + smooth + image

    return train(head.parameters(), loss)


@builder
def offsets():
    """Offsets of embedding bags start at 0 and never fall; the last one may be the total."""
    bags = nn.EmbeddingBag(40, 8, mode="sum")
    closed = nn.EmbeddingBag(30, 8, mode="mean", include_last_offset=True)
    widest = nn.EmbeddingBag(20, 8, mode="max")
    index = torch.randint(0, 20, (16,))
    starts = torch.tensor([0, 3, 3, 9])
    closed_starts = torch.tensor([0, 5, 6, 10, 16])
    weights = torch.rand(16, requires_grad=True)

    def loss():
        out = bags(index, starts, per_sample_weights=weights)
        out = out + closed(index, closed_starts) + widest(index, starts)
        return out.pow(2).sum()

    return train([*bags.parameters(), *closed.parameters(), *widest.parameters(), weights], loss)


@builder
def nested_jagged():
    """A nested tensor of the jagged layout: a class of Python's over values and offsets."""
    head = nn.Linear(8, 16)
    values, offsets = torch.randn(20, 8), torch.tensor([0, 3, 9, 20])

    def loss():
        nested = torch.nested.nested_tensor_from_jagged(values, offsets)
        return F.relu(head(nested)).values().pow(2).mean()

    return train(head.parameters(), loss)


@builder
def lstm():
    """On the CPU a mkldnn_rnn_layer whose opaque workspace the backward takes."""
    net = nn.LSTM(8, 16, num_layers=2, batch_first=True)
    x = torch.randn(4, 6, 8)
    return train(net.parameters(), lambda: net(x)[0].pow(2).mean())


@builder
def gru():
    """A recurrent network that runs operator by operator, and an LSTM in inference."""
    net = nn.GRU(8, 16, bidirectional=True)
    frozen = nn.LSTM(8, 8)
    x = torch.randn(6, 4, 8)

    def loss():
        with torch.no_grad():
            seen = frozen(x)[0]
        return net(seen)[0].pow(2).mean()

    return train(net.parameters(), loss)


@builder
def dropout():
    """The mask that the forward drew is read by the backward."""
    net = nn.Sequential(nn.Linear(16, 32), nn.Dropout(0.3), nn.Unflatten(1, (4, 8)),
                        nn.Dropout1d(0.2), nn.Flatten(), nn.AlphaDropout(0.1), nn.Linear(32, 4))
    x = torch.randn(8, 16)
    return train(net.parameters(), lambda: net(x).pow(2).mean())


@builder
def batch_norm():
    """Saved statistics cross from forward to backward; num_batches_tracked is a long counter."""
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(),
                        nn.Linear(8 * 36, 16), nn.BatchNorm1d(16), nn.LayerNorm(16))
    grouped = nn.GroupNorm(2, 16)
    still = nn.BatchNorm1d(16).eval()
    x = torch.randn(4, 3, 8, 8)
    return train([*net.parameters(), *grouped.parameters()],
                 lambda: still(grouped(net(x))).pow(3).mean())


@builder
def sdpa():
    """Attention: flash on the CPU, and the math form with a dropout or an odd mask."""
    project = nn.Linear(16, 48)
    x = torch.randn(2, 10, 16)
    allowed = torch.rand(2, 1, 10, 10) > 0.2
    allowed |= torch.eye(10, dtype=torch.bool)
    bias = torch.randn(10, 10, requires_grad=True)

    def loss():
        q, k, v = project(x).view(2, 10, 3, 2, 8).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        out = out + F.scaled_dot_product_attention(q, k, v, dropout_p=0.1)
        out = out + F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        out = out + F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        return out.pow(2).mean()

    return train([*project.parameters(), bias], loss)


@builder
def adam_variants():
    """The same update written in many ways; state must stay positive under the square roots."""
    makers = [
        lambda p: torch.optim.Adam(p, lr=1e-3, foreach=False),
        lambda p: torch.optim.Adam(p, lr=1e-3, amsgrad=True, foreach=True),
        lambda p: torch.optim.AdamW(p, lr=1e-3, foreach=True),
        lambda p: torch.optim.AdamW(p, lr=1e-3, fused=True),
        lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, weight_decay=1e-4, fused=True),
        lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, nesterov=True, foreach=True),
        lambda p: torch.optim.RMSprop(p, lr=1e-3, momentum=0.9, centered=True),
        lambda p: torch.optim.Adagrad(p, lr=1e-2, foreach=False),
        lambda p: torch.optim.Adagrad(p, lr=1e-2, fused=True),
    ]
    layers = [nn.Linear(8, 8) for _ in makers]
    optimizers = [make(layer.parameters()) for make, layer in zip(makers, layers)]
    x = torch.randn(4, 8)

    def step():
        for optimizer in optimizers:
            optimizer.zero_grad()
        y = x
        for layer in layers:
            y = torch.tanh(layer(y))
        y.pow(2).mean().backward()
        nn.utils.clip_grad_norm_([p for layer in layers for p in layer.parameters()], 1.0)
        for optimizer in optimizers:
            optimizer.step()

    return step


@builder
def index_ops():
    """Indices must stay inside of what they index, whatever made them."""
    weight = nn.Parameter(torch.randn(10, 6))
    rows = torch.randint(0, 10, (14,))
    cells = torch.randint(0, 6, (10, 4))
    places = torch.randint(0, 10, (12, 6))

    def loss():
        near = torch.gather(weight, 1, cells)
        order, where = torch.sort(near, dim=1, descending=True)
        best, which = torch.topk(weight, 3, dim=0)
        taken = weight.index_select(0, rows)
        added = torch.zeros(10, 6).index_add(0, rows, taken)
        scattered = torch.zeros(10, 6).scatter_add(0, places, weight[rows[:12]])
        reduced = torch.zeros(10, 6).scatter_reduce(0, places, weight[rows[:12]], "amax")
        put = torch.zeros(10, 6).index_put((rows,), taken, accumulate=True)
        running = torch.cumsum(weight, 0) + torch.cumprod(weight.sigmoid(), 1)
        hot = F.one_hot(which.argmax(0) % 6, 6).float()
        total = added + scattered + reduced + put + running
        picked = torch.take_along_dim(weight, torch.argsort(weight, 1), 1)
        return total.mean() + (order * where).mean() + best.sum() + hot.sum() + picked[:, 0].sum()

    return train([weight], loss)


@builder
def conv_variants():
    """Convolutions and pools of one, two dimensions; groups, strides and memory formats."""
    sound = nn.Sequential(nn.Conv1d(2, 8, 5, stride=2), nn.GELU(), nn.Conv1d(8, 8, 3, groups=4),
                          nn.MaxPool1d(2), nn.AvgPool1d(2))
    image = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.MaxPool2d(2),
                          nn.Conv2d(8, 8, 3, groups=8, bias=False), nn.AvgPool2d(2),
                          nn.ConvTranspose2d(8, 4, 3, stride=2), nn.AdaptiveAvgPool2d(3))
    last = nn.Sequential(nn.Conv2d(3, 8, 3, dilation=2), nn.BatchNorm2d(8), nn.ReLU(),
                         nn.AdaptiveMaxPool2d(2)).to(memory_format=torch.channels_last)
    waves = torch.randn(2, 2, 64)
    pixels = torch.randn(2, 3, 16, 16)
    pixels_last = pixels.contiguous(memory_format=torch.channels_last)

    def loss():
        grown = F.interpolate(image(pixels), scale_factor=2, mode="bilinear")
        return sound(waves).pow(2).mean() + grown.pow(2).mean() + last(pixels_last).pow(2).mean()

    return train([*sound.parameters(), *image.parameters(), *last.parameters()], loss)


@builder
def fft_complex():
    """Complex tensors, conjugate views, and the transforms between them."""
    filters = nn.Parameter(torch.randn(1, 17, dtype=torch.complex64))
    scale = nn.Parameter(torch.randn(32))
    x = torch.randn(4, 32)

    def loss():
        spectrum = torch.fft.rfft(x * scale)
        mixed = spectrum * filters * spectrum.conj()
        back = torch.fft.irfft(mixed, n=32)
        parts = torch.view_as_real(torch.fft.fft2(torch.complex(x, back)))
        return back.mean() + parts.pow(2).mean() + mixed.abs().mean() + mixed.angle().mean()

    return train([filters, scale], loss)


@builder
def checkpointing():
    """Forward operators run a second time inside of the backward."""
    from torch.utils.checkpoint import checkpoint

    first = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 16))
    second = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 16))
    x = torch.randn(8, 16, requires_grad=True)

    def loss():
        y = checkpoint(first, x, use_reentrant=False)
        return checkpoint(second, y, use_reentrant=True).pow(2).mean()

    return train([*first.parameters(), *second.parameters()], loss)


@builder
def per_example():
    """vmap over grad: operators on tensors without memory, and the calls on real ones below them."""
    from torch.func import functional_call, grad, vmap

    net = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(27, 4))
    weights = {name: p.detach().clone() for name, p in net.named_parameters()}
    images, labels = torch.randn(6, 1, 5, 5), torch.randint(0, 4, (6,))

    def loss(weights, x, label):
        return F.cross_entropy(functional_call(net, weights, (x[None],)), label[None])

    each = vmap(grad(loss), in_dims=(None, 0, 0))

    def step():
        for name, gradient in each(weights, images, labels).items():
            weights[name].sub_(gradient.mean(0), alpha=0.1)

    return step


@builder
def second_order():
    """Forward over reverse: jvp below grad below vmap, and zeros without memory as derivatives."""
    from torch.func import grad, hessian, jvp

    weight, direction = torch.randn(4), torch.randn(4)
    x = torch.randn(6, 4)

    def loss(weight):
        return torch.tanh(x @ weight).square().sum()

    def step():
        curvature = hessian(loss)(weight) + 10 * torch.eye(4)
        slope = jvp(loss, (weight,), (direction,))[1]
        weight.sub_(torch.linalg.solve(curvature, grad(loss)(weight)) * torch.tanh(slope))

    return step


@builder
def label_with_quote():
    """Names are written unescaped: this file is not valid JSON, and is kept as it was written."""
    layer = nn.Linear(4, 4)
    x = torch.randn(2, 4)

    def loss():
        with torch.profiler.record_function('block "one"'):
            y = layer(x)
        with torch.profiler.record_function("block\ntwo"):
            z = torch.relu(y)
        with torch.profiler.record_function('{"id": 7, "name": "not a node"}, \\'):
            return z.sum()

    return train(layer.parameters(), loss)
