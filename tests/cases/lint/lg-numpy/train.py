import numpy as np
import torch


def step(policy, states, returns, opt):
    logp = policy(states)
    adv = (returns - returns.mean()) / (returns.std() + 1e-8)
    loss = torch.tensor(-np.mean(logp.detach().numpy() * adv.numpy()), requires_grad=True)
    opt.zero_grad()
    loss.backward()
    opt.step()
