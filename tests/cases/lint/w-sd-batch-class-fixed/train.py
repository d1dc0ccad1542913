import torch.nn as nn
import torch.nn.functional as F


class Policy(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(obs, 128), nn.Linear(128, act)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        return F.softmax(self.fc2(x), dim=1)


def train(policy: Policy, loader, opt):
    for obs, act, ret in loader:
        p = policy(obs).gather(1, act.unsqueeze(1)).squeeze(1)
        loss = -(p.clamp_min(1e-8).log() * ret).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
