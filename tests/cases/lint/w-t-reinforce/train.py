import torch


def episode(policy, env, opt, gamma=0.99):
    logps, rewards, s, done = [], [], env.reset(), False
    while not done:
        dist = torch.distributions.Categorical(logits=policy(torch.as_tensor(s).float()))
        a = dist.sample()
        logps.append(dist.log_prob(a))
        s, r, done, _ = env.step(a.item())
        rewards.append(r)
    g, rets = 0.0, []
    for r in reversed(rewards):
        g = r + gamma * g
        rets.insert(0, g)
    loss = -(torch.stack(logps) * torch.tensor(rets)).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
