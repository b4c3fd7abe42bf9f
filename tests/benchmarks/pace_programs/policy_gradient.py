"""Reinforcement learning: an LSTM cell unrolled in Python, sampled actions, clipped objective."""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.append(str(Path(__file__).resolve().parents[3] / "fleet_samples" / "programs"))
import common  # noqa: E402

ACTORS, STEPS, SIGHT, WIDTH, ACTIONS = 64, 24, 96, 192, 18


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.see = nn.Linear(SIGHT, WIDTH)
        self.cell = nn.LSTMCell(WIDTH, WIDTH)
        self.act = nn.Linear(WIDTH, ACTIONS)
        self.judge = nn.Linear(WIDTH, 1)

    def forward(self, sights, ends):
        hidden = cell = sights.new_zeros(ACTORS, WIDTH)
        scores, values = [], []
        for sight, end in zip(sights, ends):
            alive = (~end).unsqueeze(1).float()
            hidden, cell = self.cell(torch.tanh(self.see(sight)), (hidden * alive, cell * alive))
            scores.append(self.act(hidden))
            values.append(self.judge(hidden).squeeze(1))
        return torch.stack(scores), torch.stack(values)


def advantages(rewards, values, ends, discount=0.99, decay=0.95):
    later, gained = torch.zeros(ACTORS), []
    for i in reversed(range(STEPS)):
        alive = (~ends[i]).float()
        following = values[i + 1] if i + 1 < STEPS else torch.zeros(ACTORS)
        surprise = rewards[i] + discount * following * alive - values[i]
        later = surprise + discount * decay * alive * later
        gained.append(later)
    return torch.stack(gained[::-1])


def build():
    model = Policy()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4, eps=1e-5, amsgrad=True)
    batch = common.cycling(lambda: (torch.randn(STEPS, ACTORS, SIGHT),
                                    torch.rand(STEPS, ACTORS) < 0.05,
                                    torch.randn(STEPS, ACTORS)))

    def step():
        sights, ends, rewards = batch()
        with torch.no_grad():
            scores, values = model(sights, ends)
            before = torch.distributions.Categorical(logits=scores)
            actions = before.sample()
            old = before.log_prob(actions)
            gained = advantages(rewards, values, ends)
            wanted = gained + values
            gained = (gained - gained.mean()) / (gained.std() + 1e-8)
        scores, values = model(sights, ends)
        now = torch.distributions.Categorical(logits=scores)
        ratio = (now.log_prob(actions) - old).exp()
        gain = torch.min(ratio * gained, ratio.clamp(0.8, 1.2) * gained).mean()
        loss = -gain + 0.5 * F.smooth_l1_loss(values, wanted) - 0.01 * now.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()

    return step


if __name__ == "__main__":
    common.run(build, __doc__)
