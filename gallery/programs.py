#!/usr/bin/env python3
"""Programs of the gallery, in random weights: programs.py NAME [--device cuda]. On a CPU they are small."""

import sys
from pathlib import Path
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fleet_samples" / "programs"))
import common  # noqa: E402
import dlrm  # noqa: E402
import gpt  # noqa: E402


def on_gpu():
    return torch.get_default_device().type == "cuda"


def sizes(cuda, cpu):
    return SimpleNamespace(**(cuda if on_gpu() else {**cuda, **cpu}))


def autocast():
    return torch.autocast(torch.get_default_device().type, dtype=torch.bfloat16, enabled=on_gpu())


def train(model, make_batch, loss_of):
    """In bfloat16 by autocast on a GPU, AdamW as one fused operator. loss_of() gets a batch."""
    return common.training(torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True), common.cycling(make_batch), autocast()(loss_of))


def classify(model, of):
    model = model.to(memory_format=torch.channels_last)
    return train(model, lambda: (torch.randn(of.batch, 3, of.pixels, of.pixels).to(memory_format=torch.channels_last),
                                 torch.randint(0, 1000, (of.batch,))),
                 lambda images, labels: F.cross_entropy(model(images), labels))


def serve(model, make_input):
    """Forward alone, in half precision on a GPU."""
    model = model.half() if on_gpu() else model
    next_input = common.cycling(make_input)
    return torch.no_grad()(lambda: model(next_input()))


def encoder(of):
    """Transformer layers, norms first. Not in evaluation, in which torch calls one operator for a whole layer."""
    layer = nn.TransformerEncoderLayer(of.width, of.heads, 4 * of.width, dropout=0, activation="gelu", batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, of.layers, nn.LayerNorm(of.width), enable_nested_tensor=False)


def gpt2():
    """GPT-2 (124 million parameters), gradients clipped."""
    vars(gpt).update({"BATCH": 8, "CONTEXT": 1024, "VOCABULARY": 50257, "WIDTH": 768, "HEADS": 12, "LAYERS": 12} if on_gpu() else
                     {"BATCH": 1, "CONTEXT": 128, "VOCABULARY": 4096, "WIDTH": 256, "HEADS": 4, "LAYERS": 3})
    return autocast()(gpt.build(lambda parameters: torch.optim.AdamW(parameters, lr=3e-4, fused=True)))


def dlrm_26():
    """DLRM with 26 tables, as for Criteo's clicks: sparse gradients, Adagrad on the tables, SGD elsewhere."""
    vars(dlrm).update({"BATCH": 16384, "TABLES": 26, "ROWS": 200000, "WIDTH": 128, "MOST_PER_BAG": 20} if on_gpu() else
                      {"BATCH": 512, "TABLES": 8, "ROWS": 10000, "WIDTH": 32})
    return dlrm.build(sparse=True, make_optimizers=lambda model: [
        torch.optim.Adagrad(model.tables.parameters(), lr=0.01),
        torch.optim.SGD([*model.bottom.parameters(), *model.top.parameters()], lr=0.01)])


def rotated(x, cosine, sine):
    left, right = x.chunk(2, -1)
    return x * cosine + torch.cat([-right, left], -1) * sine


class LlamaLayer(nn.Module):
    def __init__(self, of):
        super().__init__()
        self.heads = [of.heads, of.kv_heads, of.kv_heads]
        self.norm1, self.norm2 = nn.RMSNorm(of.width, eps=1e-5), nn.RMSNorm(of.width, eps=1e-5)
        self.qkv = nn.ModuleList(nn.Linear(of.width, heads * (of.width // of.heads), bias=False) for heads in self.heads)
        self.out = nn.Linear(of.width, of.width, bias=False)
        self.gate, self.up = (nn.Linear(of.width, of.inner, bias=False) for _ in range(2))
        self.down = nn.Linear(of.inner, of.width, bias=False)

    def forward(self, x, turns):
        normed = self.norm1(x)
        q, k, v = (linear(normed).unflatten(2, (heads, -1)).transpose(1, 2) for linear, heads in zip(self.qkv, self.heads))
        y = F.scaled_dot_product_attention(rotated(q, *turns), rotated(k, *turns), v, is_causal=True, enable_gqa=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        normed = self.norm2(x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


class Llama(nn.Module):
    def __init__(self, of):
        super().__init__()
        self.tokens = nn.Embedding(of.vocabulary, of.width)
        self.layers = nn.ModuleList(LlamaLayer(of) for _ in range(of.layers))
        self.norm = nn.RMSNorm(of.width, eps=1e-5)
        size = of.width // of.heads
        angles = torch.arange(of.context)[:, None] / 500000.0 ** (torch.arange(0, size, 2) / size)
        self.register_buffer("turns", torch.stack([angles.cos().repeat(1, 2), angles.sin().repeat(1, 2)]))

    def forward(self, tokens):
        x = self.tokens(tokens)
        for layer in self.layers:
            x = layer(x, self.turns)
        return F.linear(self.norm(x), self.tokens.weight)


def llama_1b():
    """Llama of Llama 3.2's sizes (1.2 billion parameters), in bfloat16."""
    of = sizes({"batch": 2, "context": 2048, "vocabulary": 128256, "width": 2048, "inner": 8192, "heads": 32, "kv_heads": 8, "layers": 16},
               {"batch": 1, "context": 64, "vocabulary": 512, "width": 64, "inner": 256, "heads": 4, "kv_heads": 2, "layers": 2})
    model = Llama(of).to(torch.bfloat16 if on_gpu() else torch.float32)
    return train(model, lambda: (torch.randint(0, of.vocabulary, (of.batch, of.context + 1)),),
                 lambda tokens: F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()))


def convolution(inputs, outputs, size, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False), nn.BatchNorm2d(outputs))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.body = nn.Sequential(convolution(inputs, width, 1), nn.ReLU(inplace=True), convolution(width, width, 3, stride),
                                  nn.ReLU(inplace=True), convolution(width, 4 * width, 1))
        self.shortcut = nn.Identity() if inputs == 4 * width else convolution(inputs, 4 * width, 1, stride)

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x), inplace=True)


def resnet50():
    of = sizes({"batch": 128, "pixels": 224, "width": 64}, {"batch": 1, "pixels": 96, "width": 32})
    layers, inputs = [convolution(3, of.width, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, padding=1)], of.width
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            layers.append(Bottleneck(inputs, of.width << stage, 2 if stage > 0 and block == 0 else 1))
            inputs = 4 * (of.width << stage)
    return classify(nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000)), of)


class ChannelNorm(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNextBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.body = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.scale = nn.Parameter(torch.full((width,), 1e-6))

    def forward(self, x):
        return x + (self.scale * self.body(self.mix(x).permute(0, 2, 3, 1))).permute(0, 3, 1, 2)


def convnext():
    """ConvNeXt-T."""
    of = sizes({"batch": 64, "pixels": 224, "width": 96, "blocks": (3, 3, 9, 3)}, {"batch": 1, "pixels": 64, "width": 16, "blocks": (1, 1, 1, 1)})
    layers = [nn.Conv2d(3, of.width, 4, 4), ChannelNorm(of.width)]
    for stage, blocks in enumerate(of.blocks):
        width = of.width << stage
        layers += [] if stage == 0 else [ChannelNorm(width // 2), nn.Conv2d(width // 2, width, 2, 2)]
        layers += [ConvNextBlock(width) for _ in range(blocks)]
    return classify(nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(width), nn.Linear(width, 1000)), of)


class Vit(nn.Module):
    def __init__(self, of):
        super().__init__()
        self.patches = nn.Conv2d(3, of.width, 16, 16)
        self.first = nn.Parameter(torch.zeros(1, 1, of.width))
        self.positions = nn.Parameter(torch.randn(1 + (of.pixels // 16) ** 2, of.width) * 0.02)
        self.encoder, self.head = encoder(of), nn.Linear(of.width, 1000)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], 1) + self.positions
        return self.head(self.encoder(x)[:, 0])


def vit_b16():
    of = sizes({"batch": 64, "pixels": 224, "width": 768, "heads": 12, "layers": 12}, {"batch": 1, "pixels": 64, "width": 64, "heads": 2, "layers": 2})
    return classify(Vit(of), of)


class Unet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 2 * width, 3, padding=1, stride=2),
                                   nn.Conv2d(2 * width, 4 * width, 3, padding=1, stride=2)])
        self.norm = nn.ModuleList(nn.GroupNorm(8, width << level) for level in range(3))
        self.up = nn.ModuleList([nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2), nn.ConvTranspose2d(4 * width, width, 2, stride=2)])
        self.out = nn.Conv2d(2 * width, 3, 1)

    def forward(self, x):
        levels = []
        for down, norm in zip(self.down, self.norm):
            x = F.silu(norm(down(x)))
            levels.append(x)
        for up, level in zip(self.up, reversed(levels[:-1])):
            x = torch.cat([up(x), level], 1)
        return self.out(x)


def unet():
    """A UNet of three levels."""
    of = sizes({"batch": 16, "pixels": 256, "width": 64}, {"batch": 1, "pixels": 32, "width": 16})
    model = Unet(of.width)
    return train(model, lambda: (torch.randn(of.batch, 3, of.pixels, of.pixels),), lambda images: F.mse_loss(model(images), images))


class Positions(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(shape))

    def forward(self, x):
        return x + self.weight


class Transposed(nn.Module):
    def forward(self, x):
        return x.transpose(1, 2)


def whisper_encoder():
    """The encoder of Whisper small: 30 seconds of sound."""
    of = sizes({"batch": 8, "frames": 3000, "width": 768, "heads": 12, "layers": 12}, {"batch": 1, "frames": 200, "width": 64, "heads": 2, "layers": 2})
    front = nn.Sequential(nn.Conv1d(80, of.width, 3, padding=1), nn.GELU(), nn.Conv1d(of.width, of.width, 3, stride=2, padding=1), nn.GELU())
    return serve(nn.Sequential(front, Positions((of.width, of.frames // 2)), Transposed(), encoder(of)),
                 lambda: torch.randn(of.batch, 80, of.frames, dtype=front[0].weight.dtype))


def bert_base():
    of = sizes({"batch": 32, "tokens": 256, "width": 768, "heads": 12, "layers": 12}, {"batch": 4, "tokens": 64, "width": 256, "heads": 4, "layers": 4})
    model = nn.Sequential(nn.Embedding(30522, of.width), Positions((of.tokens, of.width)), nn.LayerNorm(of.width), encoder(of))
    return serve(model, lambda: torch.randint(0, 30522, (of.batch, of.tokens)))


MODELS = {build.__name__: build for build in (llama_1b, gpt2, dlrm_26, resnet50, vit_b16, convnext, unet, whisper_encoder, bert_base)}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in MODELS:
        sys.exit(f"programs.py: name one of {', '.join(MODELS)}")
    name = sys.argv.pop(1)
    common.run(MODELS[name], name)
