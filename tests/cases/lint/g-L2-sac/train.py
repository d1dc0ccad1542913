import collections
import random

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

Transition = collections.namedtuple("Transition", "s a r s2 d")


class Memory:
    def __init__(self, cap, seed):
        self.buf, self.rng = collections.deque(maxlen=cap), random.Random(seed)

    def push(self, *t):
        self.buf.append(Transition(*t))

    def sample(self, n, dev):
        cols = zip(*self.rng.sample(self.buf, n))
        return [torch.as_tensor(np.asarray(c), dtype=torch.float32, device=dev) for c in cols]

    def __len__(self):
        return len(self.buf)


def mlp(i, o, h=256):
    return nn.Sequential(nn.Linear(i, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, o))


class Twin(nn.Module):
    def __init__(self, o, a):
        super().__init__()
        self.q1, self.q2 = mlp(o + a, 1), mlp(o + a, 1)

    def forward(self, s, a):
        x = torch.cat([s, a], -1)
        return self.q1(x).squeeze(-1), self.q2(x).squeeze(-1)


class Policy(nn.Module):
    def __init__(self, o, a, scale, lo=-20, hi=2):
        super().__init__()
        self.body = mlp(o, 2 * a)
        self.lo, self.hi = lo, hi
        self.register_buffer("scale", torch.as_tensor(scale))

    def forward(self, s):
        mu, ls = self.body(s).chunk(2, -1)
        return mu, ls.clamp(self.lo, self.hi)

    def sample(self, s):
        mu, ls = self(s)
        d = Normal(mu, ls.exp())
        u = d.rsample()
        a = torch.tanh(u)
        lp = (d.log_prob(u) - torch.log(self.scale * (1 - a.pow(2)) + 1e-6)).sum(-1)
        return a * self.scale, lp

    @torch.no_grad()
    def act(self, s, greedy=False):
        if greedy:
            return (torch.tanh(self(s)[0]) * self.scale).cpu().numpy()
        return self.sample(s)[0].cpu().numpy()


class SAC:
    def __init__(self, o, a, scale, dev, gamma=0.99, tau=0.005, lr=3e-4):
        self.dev, self.gamma, self.tau = dev, gamma, tau
        self.pi = Policy(o, a, scale).to(dev)
        self.q, self.qt = Twin(o, a).to(dev), Twin(o, a).to(dev)
        self.qt.load_state_dict(self.q.state_dict())
        self.log_alpha = torch.zeros((), device=dev, requires_grad=True)
        self.target_entropy = -float(a)
        self.opt_pi = torch.optim.Adam(self.pi.parameters(), lr)
        self.opt_q = torch.optim.Adam(self.q.parameters(), lr)
        self.opt_alpha = torch.optim.Adam([self.log_alpha], lr)

    @property
    def alpha(self):
        return self.log_alpha.exp()

    def critic(self, b):
        s, a, r, s2, d = b
        with torch.no_grad():
            a2, lp2 = self.pi.sample(s2)
            t1, t2 = self.qt(s2, a2)
            y = r + self.gamma * (1 - d) * (torch.min(t1, t2) - self.alpha * lp2)
        q1, q2 = self.q(s, a)
        loss = F.mse_loss(q1, y) + F.mse_loss(q2, y)
        self.opt_q.zero_grad()
        loss.backward()
        self.opt_q.step()
        return loss.detach()

    def actor(self, s):
        for p in self.q.parameters():
            p.requires_grad = False
        a, lp = self.pi.sample(s)
        q1, q2 = self.q(s, a)
        loss = (self.alpha.detach() * lp - torch.min(q1, q2)).mean()
        self.opt_pi.zero_grad()
        loss.backward()
        self.opt_pi.step()
        for p in self.q.parameters():
            p.requires_grad = True
        la = -(self.log_alpha * (lp + self.target_entropy).detach()).mean()
        self.opt_alpha.zero_grad()
        la.backward()
        self.opt_alpha.step()

    @torch.no_grad()
    def polyak(self):
        for p, t in zip(self.q.parameters(), self.qt.parameters()):
            t.mul_(1 - self.tau).add_(p, alpha=self.tau)

    def update(self, b):
        loss = self.critic(b)
        self.actor(b[0])
        self.polyak()
        return loss


def evaluate(env, agent, n):
    total = 0.0
    for _ in range(n):
        s, _ = env.reset()
        done = False
        while not done:
            a = agent.pi.act(torch.as_tensor(s, dtype=torch.float32, device=agent.dev), greedy=True)
            s, r, term, trunc, _ = env.step(a)
            total += r
            done = term or trunc
    return total / n


def main(env_id="Pendulum-v1", steps=100_000, start=5000, batch=256, seed=0):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    env, test = gym.make(env_id), gym.make(env_id)
    dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    o, a = env.observation_space.shape[0], env.action_space.shape[0]
    agent = SAC(o, a, env.action_space.high.astype(np.float32), dev)
    mem = Memory(1_000_000, seed)
    s, _ = env.reset(seed=seed)
    losses = []
    for t in range(steps):
        act = env.action_space.sample() if t < start else agent.pi.act(torch.as_tensor(s, dtype=torch.float32, device=dev))
        s2, r, term, trunc, _ = env.step(act)
        mem.push(s, act, r, s2, float(term))
        s = s2
        if term or trunc:
            s, _ = env.reset()
        if t >= start:
            losses.append(agent.update(mem.sample(batch, dev)))
        if t % 5000 == 0 and losses:
            print(t, torch.stack(losses).mean().item(), evaluate(test, agent, 5))
            losses.clear()


if __name__ == "__main__":
    main()
