import random
from collections import deque

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class QNet(nn.Module):
    def __init__(self, obs_dim, n_actions):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs_dim, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
        self.out = nn.Linear(128, n_actions)

    def forward(self, obs):
        return self.out(self.body(obs))


def seed_all(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def sample(buffer, n):
    obs, act, rew, nxt, done = zip(*random.sample(buffer, n))
    as_f = lambda v: torch.as_tensor(np.stack(v), dtype=torch.float32)
    return as_f(obs), torch.as_tensor(act), as_f(rew), as_f(nxt), as_f(done)


def main(total_steps=50_000, gamma=0.99, batch=64):
    seed_all(1)
    env = gym.make("CartPole-v1")
    q = QNet(env.observation_space.shape[0], env.action_space.n)
    opt = torch.optim.Adam(q.parameters(), lr=5e-4)
    buffer = deque(maxlen=20_000)
    obs, _ = env.reset(seed=1)
    for t in range(total_steps):
        eps = max(0.05, 1 - t / 10_000)
        if random.random() < eps:
            action = random.randrange(env.action_space.n)
        else:
            with torch.no_grad():
                action = int(q(torch.as_tensor(obs).unsqueeze(0)).argmax())
        nxt, reward, term, trunc, _ = env.step(action)
        buffer.append((obs, action, reward, nxt, float(term)))
        obs = env.reset()[0] if term or trunc else nxt
        if len(buffer) < 1000:
            continue
        o, a, r, o2, d = sample(buffer, batch)
        current = q(o).gather(1, a.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            target = r + gamma * (1 - d) * q(o2).max(dim=1).values
        loss = F.smooth_l1_loss(current, target)
        opt.zero_grad()
        loss.backward()
        opt.step()


if __name__ == "__main__":
    main()
