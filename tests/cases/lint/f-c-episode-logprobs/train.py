import torch
from torch.distributions import Categorical


class Reinforce:
    def __init__(self, pi, opt, gamma):
        self.pi, self.opt, self.gamma = pi, opt, gamma
        self.saved, self.rewards = [], []

    def act(self, s):
        d = Categorical(logits=self.pi(torch.as_tensor(s).float()))
        a = d.sample()
        self.saved.append(d.log_prob(a))
        return a.item()

    def finish(self):
        g, rets = 0.0, []
        for r in reversed(self.rewards):
            g = r + self.gamma * g
            rets.insert(0, g)
        loss = torch.stack([-lp * q for lp, q in zip(self.saved, rets)]).sum()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.saved.clear()
        self.rewards.clear()


def run(env, agent, n):
    for _ in range(n):
        s, done = env.reset(), False
        while not done:
            s, r, done = env.step(agent.act(s))
            agent.rewards.append(r)
        agent.finish()
