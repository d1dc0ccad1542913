import copy

import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_


class DDPG:
    def __init__(self, actor, critic, gamma=0.99, tau=0.005, max_norm=1.0):
        self.actor, self.critic = actor, critic
        self.actor_target = copy.deepcopy(actor).requires_grad_(False)
        self.critic_target = copy.deepcopy(critic).requires_grad_(False)
        self.actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-4)
        self.critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
        self.gamma, self.tau, self.max_norm = gamma, tau, max_norm

    def update(self, batch):
        obs, act, rew, nxt, done = batch
        with torch.no_grad():
            target = rew + self.gamma * (1 - done) * self.critic_target(nxt, self.actor_target(nxt))
        critic_loss = F.mse_loss(self.critic(obs, act), target)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        clip_grad_norm_(self.critic.parameters(), self.max_norm)
        self.critic_opt.step()

        actor_loss = -self.critic(obs, self.actor(obs)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        clip_grad_norm_(self.actor.parameters(), self.max_norm)
        self.actor_opt.step()
        self._sync(self.actor, self.actor_target)
        self._sync(self.critic, self.critic_target)

    @torch.no_grad()
    def _sync(self, net, target):
        for p, tp in zip(net.parameters(), target.parameters()):
            tp.lerp_(p, self.tau)
