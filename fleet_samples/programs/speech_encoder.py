"""A speech-like encoder: convolutions over frames, then transformer layers; padded batches."""

import torch
import torch.nn.functional as F
from torch import nn

import common

BATCH, BANDS, FRAMES, WIDTH, HEADS, LAYERS, UNITS = 4, 80, 320, 256, 4, 3, 500
IGNORED = -100  # the target of a padded frame


class SpeechEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Sequential(nn.Conv1d(BANDS, WIDTH, 3, padding=1), nn.GELU(),
                                   nn.Conv1d(WIDTH, WIDTH, 3, stride=2, padding=1), nn.GELU(),
                                   nn.Conv1d(WIDTH, WIDTH, 3, stride=2, padding=1), nn.GELU())
        self.positions = nn.Parameter(torch.randn(FRAMES // 4, WIDTH) * 0.02)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.1, activation="gelu",
                                           batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(WIDTH),
                                             enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, UNITS)

    def forward(self, sound, padded):
        x = self.front(sound).transpose(1, 2) + self.positions
        return self.head(self.encoder(x, src_key_padding_mask=padded))


def make_batch():
    lengths = torch.randint(FRAMES // 8, FRAMES // 4 + 1, (BATCH,))
    padded = torch.arange(FRAMES // 4) >= lengths[:, None]
    units = torch.randint(0, UNITS, (BATCH, FRAMES // 4)).masked_fill(padded, IGNORED)
    return torch.randn(BATCH, BANDS, FRAMES), padded, units


def build():
    model = SpeechEncoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.01)

    def loss_of(sound, padded, units):
        logits = model(sound, padded)
        return F.cross_entropy(logits.flatten(0, 1), units.flatten(), ignore_index=IGNORED)

    return common.training(optimizer, common.cycling(make_batch), loss_of)


if __name__ == "__main__":
    common.run(build, __doc__)
