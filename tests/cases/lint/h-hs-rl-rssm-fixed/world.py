import torch
from torch import nn


class Belief(nn.Module):
    def __init__(self, obs, act, deter=200, stoch=30):
        super().__init__()
        self.rnn = nn.GRUCell(stoch + act, deter)
        self.post = nn.Linear(deter + obs, 2 * stoch)
        self.dec = nn.Linear(deter + stoch, obs)
        self.deter, self.stoch = deter, stoch

    def start(self, n, device):
        return torch.zeros(n, self.deter, device=device), torch.zeros(n, self.stoch, device=device)

    def step(self, state, action, obs):
        h, s = state
        h = self.rnn(torch.cat([s, action], -1), h)
        mu, logvar = self.post(torch.cat([h, obs], -1)).chunk(2, -1)
        s = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return (h, s), self.dec(torch.cat([h, s], -1))


def learn_online(env_stream, model, opt, device, n):
    state = model.start(n, device)
    for action, obs in env_stream:
        action, obs = action.to(device), obs.to(device)
        state, recon = model.step(state, action, obs)
        loss = (recon - obs).square().sum(-1).mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        state = tuple(t.detach() for t in state)
