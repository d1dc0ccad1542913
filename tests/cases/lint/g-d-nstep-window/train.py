from collections import deque

import torch


def actor_critic(net, env, opt, gamma, n):
    s = env.reset()
    window = deque(maxlen=n)
    while True:
        logits, v = net(torch.as_tensor(s).float())
        d = torch.distributions.Categorical(logits=logits)
        a = d.sample()
        s, r, done = env.step(a.item())
        window.append((d.log_prob(a), v, r))
        if len(window) == n or done:
            g, loss = 0.0, 0.0
            for lp, val, rew in reversed(window):
                g = rew + gamma * g
                loss = loss - lp * (g - val.detach()) + (g - val).pow(2)
            opt.zero_grad()
            loss.sum().backward()
            opt.step()
            window.clear()
        if done:
            s = env.reset()
