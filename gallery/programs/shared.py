"""What the gallery's programs share: sizes for a GPU and for a CPU, and steps that train or serve."""

import sys
from pathlib import Path
from types import SimpleNamespace

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fleet_samples" / "programs"))
import common  # noqa: E402


def on_gpu():
    return torch.get_default_device().type == "cuda"


def sizes(cuda, cpu):
    return SimpleNamespace(**(cuda if on_gpu() else {**cuda, **cpu}))


def encoder(width, heads, layers):
    """Transformer layers, norms first. Not in evaluation, in which torch calls one operator for a whole layer."""
    layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0, activation="gelu", batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, layers, nn.LayerNorm(width), enable_nested_tensor=False)


def train(model, make_batch, loss_of):
    """Trains in bfloat16 by autocast on a GPU, with fused AdamW. loss_of() gets a batch."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def loss(*batch):
        with torch.autocast(torch.get_default_device().type, dtype=torch.bfloat16, enabled=on_gpu()):
            return loss_of(*batch)
    return common.training(optimizer, common.cycling(make_batch), loss)


def serve(model, make_batch):
    """Runs the model forward, in half precision on a GPU; make_batch() gets its type."""
    dtype = torch.float16 if on_gpu() else torch.float32
    model, batches = model.to(dtype), common.cycling(lambda: make_batch(dtype))
    return torch.no_grad()(lambda: model(*batches()))
