import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


class Agent(nn.Module):
    def __init__(self, obs, acts):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs, 128), nn.Tanh())
        self.pi, self.v = nn.Linear(128, acts), nn.Linear(128, 1)

    def forward(self, x):
        h = self.trunk(x)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


@torch.no_grad()
def returns(agent, rewards, dones, last_obs, gamma=0.99):
    _, running = agent(last_obs)
    out = []
    for r, d in zip(reversed(rewards), reversed(dones)):
        running = r + gamma * running * (1 - d)
        out.append(running)
    return torch.stack(out[::-1])


def update(agent, opt, obs, acts, rewards, dones, last_obs):
    ret = returns(agent, rewards, dones, last_obs)
    dist, value = agent(torch.stack(obs))
    adv = ret - value
    pg = -(dist.log_prob(torch.stack(acts)) * adv.detach()).mean()
    loss = pg + 0.5 * F.mse_loss(value, ret) - 0.01 * dist.entropy().mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
    opt.step()
