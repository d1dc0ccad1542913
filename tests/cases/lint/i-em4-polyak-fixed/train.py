import copy

import torch


class TD3:
    def __init__(self, critic, lr, tau):
        self.critic = critic
        self.target = copy.deepcopy(critic)
        self.opt = torch.optim.Adam(critic.parameters(), lr)
        self.tau = tau

    @torch.no_grad()
    def soft(self):
        src, dst = dict(self.critic.named_parameters()), dict(self.target.named_parameters())
        for k in dst:
            dst[k].copy_(self.tau * src[k] + (1 - self.tau) * dst[k])

    def learn(self, s, a, y):
        self.opt.zero_grad()
        (self.critic(s, a) - y).pow(2).mean().backward()
        self.opt.step()
        self.soft()
