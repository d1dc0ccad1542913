import torch
import torch.nn.functional as F


class C51Free:
    def __init__(self, net, opt, gamma):
        self.net, self.opt, self.gamma = net, opt, gamma

    def learn(self, batch):
        obs, act, rew, nobs, term = batch
        values = self.net(obs).gather(-1, act.unsqueeze(-1)).squeeze(-1)
        boot = self.net(nobs).amax(-1).detach()
        goal = rew + self.gamma * boot * (1 - term)
        self.opt.zero_grad()
        F.huber_loss(values, goal).backward()
        self.opt.step()
