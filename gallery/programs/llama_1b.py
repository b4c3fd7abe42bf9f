"""Llama of Llama 3.2's sizes (1.2 billion parameters): trained in bfloat16, AdamW as one fused operator."""

import torch
import torch.nn.functional as F
from torch import nn

import shared

CUDA = {"batch": 2, "context": 2048, "vocabulary": 128256, "width": 2048, "inner": 8192, "heads": 32, "kv_heads": 8, "layers": 16}
CPU = {"batch": 1, "context": 64, "vocabulary": 512, "width": 64, "inner": 256, "heads": 4, "kv_heads": 2, "layers": 2}


def rotated(x, cosine, sine):
    left, right = x.chunk(2, -1)
    return x * cosine + torch.cat([-right, left], -1) * sine


class Layer(nn.Module):
    def __init__(self, of):
        super().__init__()
        self.heads = [of.heads, of.kv_heads, of.kv_heads]
        size = of.width // of.heads
        self.norm1, self.norm2 = nn.RMSNorm(of.width, eps=1e-5), nn.RMSNorm(of.width, eps=1e-5)
        self.qkv = nn.ModuleList(nn.Linear(of.width, heads * size, bias=False) for heads in self.heads)
        self.out = nn.Linear(of.width, of.width, bias=False)
        self.gate, self.up = (nn.Linear(of.width, of.inner, bias=False) for _ in range(2))
        self.down = nn.Linear(of.inner, of.width, bias=False)

    def forward(self, x, cosine, sine):
        normed = self.norm1(x)
        q, k, v = (linear(normed).unflatten(2, (heads, -1)).transpose(1, 2) for linear, heads in zip(self.qkv, self.heads))
        y = F.scaled_dot_product_attention(rotated(q, cosine, sine), rotated(k, cosine, sine), v, is_causal=True, enable_gqa=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        normed = self.norm2(x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


class Llama(nn.Module):
    def __init__(self, of):
        super().__init__()
        self.tokens = nn.Embedding(of.vocabulary, of.width)
        self.layers = nn.ModuleList(Layer(of) for _ in range(of.layers))
        self.norm = nn.RMSNorm(of.width, eps=1e-5)
        size = of.width // of.heads
        angles = torch.arange(of.context)[:, None] / 500000.0 ** (torch.arange(0, size, 2) / size)
        self.register_buffer("cosine", angles.cos().repeat(1, 2))
        self.register_buffer("sine", angles.sin().repeat(1, 2))

    def forward(self, tokens):
        x = self.tokens(tokens)
        for layer in self.layers:
            x = layer(x, self.cosine, self.sine)
        return F.linear(self.norm(x), self.tokens.weight)


def build():
    of = shared.sizes(CUDA, CPU)
    model = Llama(of).to(torch.bfloat16 if shared.on_gpu() else torch.float32)
    return shared.train(model, lambda: (torch.randint(0, of.vocabulary, (of.batch, of.context + 1)),),
                        lambda tokens: F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()))


if __name__ == "__main__":
    shared.common.run(build, __doc__)
