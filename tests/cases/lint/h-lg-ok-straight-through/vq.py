import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class Quantizer(nn.Module):
    def __init__(self, k, d, beta=0.25):
        super().__init__()
        self.book = nn.Embedding(k, d)
        self.beta = beta

    def forward(self, z):
        flat = z.reshape(-1, z.size(-1))
        idx = torch.cdist(flat, self.book.weight).argmin(1)
        q = self.book(idx).view_as(z)
        loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        q = z + (q - z).detach()
        return q, loss, idx


def train(enc, quant, dec, loader, opt):
    for x in loader:
        x = x.cuda(non_blocking=True)
        q, commit, idx = quant(enc(x))
        loss = F.mse_loss(dec(q), x) + commit
        opt.zero_grad()
        loss.backward()
        opt.step()
    used = np.unique(idx.cpu().numpy())
    print("codes used", len(used))


def reinforce(policy, env, opt, gamma=0.99):
    obs, done, logps, rewards = env.reset(), False, [], []
    while not done:
        dist = torch.distributions.Categorical(logits=policy(torch.as_tensor(obs)))
        a = dist.sample()
        obs, r, done, _ = env.step(a.item())
        logps.append(dist.log_prob(a))
        rewards.append(r)
    ret, acc = [], 0.0
    for r in reversed(rewards):
        acc = r + gamma * acc
        ret.insert(0, acc)
    ret = torch.tensor(ret)
    loss = -(torch.stack(logps) * (ret - ret.mean())).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
