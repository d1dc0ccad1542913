import torch
from torch.distributions import Categorical


def a2c_update(policy, value, opt, obs, act, ret):
    v = value(obs).squeeze(-1)
    adv = ret - v
    dist = Categorical(logits=policy(obs))
    pg = -(dist.log_prob(act) * adv).mean()
    vf = adv.pow(2).mean()
    opt.zero_grad()
    (pg + 0.5 * vf).backward()
    opt.step()
