import torch
from torch import nn


class Agent(nn.Module):
    def __init__(self, o, a):
        super().__init__()
        self.rnn = nn.LSTMCell(o, 64)
        self.pi = nn.Linear(64, a)
        self.state = None

    def reset(self, n):
        self.state = (torch.zeros(n, 64), torch.zeros(n, 64))

    def forward(self, x):
        self.state = self.rnn(x, self.state)
        return self.pi(self.state[0])


def train(agent, episodes, opt):
    for obs, act, ret in episodes:
        agent.reset(obs.size(1))
        logp = torch.stack([agent(o).log_softmax(-1).gather(-1, a) for o, a in zip(obs, act)])
        opt.zero_grad()
        (-(logp.squeeze(-1) * ret).mean()).backward()
        opt.step()
