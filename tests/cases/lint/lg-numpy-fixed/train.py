import torch


def step(policy, states, returns, opt):
    logp = policy(states)
    adv = (returns - returns.mean()) / (returns.std() + 1e-8)
    loss = -(logp * adv).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
