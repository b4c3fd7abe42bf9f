"""Speech to letters: sequences of many lengths, packed, through LSTMs both ways; CTC; Nesterov."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import common

BATCH, FRAMES, BANDS, WIDTH, LETTERS, WORDS = 8, 120, 80, 128, 40, 30


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.see = nn.Conv1d(BANDS, WIDTH, 5, stride=2, padding=2)
        self.norm = nn.GroupNorm(8, WIDTH)
        self.hear = nn.LSTM(WIDTH, WIDTH, num_layers=2, bidirectional=True, dropout=0.1,
                            batch_first=True)
        self.say = nn.Linear(2 * WIDTH, LETTERS)

    def forward(self, x, lengths):
        x = F.glu(torch.cat([self.norm(self.see(x))] * 2, dim=1), dim=1).transpose(1, 2)
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        heard, _ = pad_packed_sequence(self.hear(packed)[0], batch_first=True)
        return self.say(heard).log_softmax(dim=-1).transpose(0, 1)


def masked(x):
    """Without a band of frequencies and a stretch of time, another one in each step."""
    band = torch.randint(0, BANDS - 10, ()).item()
    time = torch.randint(0, FRAMES - 20, ()).item()
    x = x.clone()
    x[:, band:band + 10] = 0
    x[:, :, time:time + 20] = 0
    return x


def build():
    model = Network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, nesterov=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=100000)
    batch = common.cycling(lambda: (torch.randn(BATCH, BANDS, FRAMES),
                                    torch.randint(FRAMES // 4, FRAMES // 2, (BATCH,)),
                                    torch.randint(1, LETTERS, (BATCH, WORDS)),
                                    torch.randint(5, WORDS // 2, (BATCH,))))

    def step():
        x, lengths, letters, letter_counts = batch()
        scores = model(masked(x), lengths)
        loss = F.ctc_loss(scores, letters, lengths, letter_counts, zero_infinity=True)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()

    return step


if __name__ == "__main__":
    common.run(build, __doc__)
