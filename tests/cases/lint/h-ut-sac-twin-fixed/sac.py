import copy

import torch
import torch.nn.functional as F


class SAC:
    def __init__(self, actor, critic, cfg):
        self.actor, self.critic = actor, critic
        self.critic_target = copy.deepcopy(critic)
        self.actor_opt = torch.optim.Adam(actor.parameters(), lr=cfg.actor_lr)
        self.critic_opt = torch.optim.Adam(critic.parameters(), lr=cfg.critic_lr)
        self.alpha, self.gamma, self.tau = cfg.alpha, cfg.gamma, cfg.tau

    def update_critic(self, obs, act, rew, nobs, not_done):
        with torch.no_grad():
            nact, nlogp = self.actor.sample(nobs)
            q1t, q2t = self.critic_target(nobs, nact)
            v = torch.min(q1t, q2t) - self.alpha * nlogp
            y = rew + not_done * self.gamma * v
        q1, q2 = self.critic(obs, act)
        loss = F.mse_loss(q1, y) + F.mse_loss(q2, y)
        self.critic_opt.zero_grad()
        loss.backward()
        self.critic_opt.step()

    def update_actor(self, obs):
        act, logp = self.actor.sample(obs)
        q = torch.min(*self.critic(obs, act))
        loss = (self.alpha * logp - q).mean()
        self.actor_opt.zero_grad()
        loss.backward()
        self.actor_opt.step()

    def polyak(self):
        with torch.no_grad():
            for p, pt in zip(self.critic.parameters(), self.critic_target.parameters()):
                pt.data.mul_(1 - self.tau).add_(self.tau * p.data)
