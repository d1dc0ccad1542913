import torch
import torch.nn.functional as F


class DDPG:
    def __init__(self, mu, q, mu_t, q_t, om, oq, gamma, tau):
        self.mu, self.q, self.mu_t, self.q_t = mu, q, mu_t, q_t
        self.om, self.oq, self.gamma, self.tau = om, oq, gamma, tau

    def update(self, s, a, r, s2, d):
        with torch.no_grad():
            y = r + self.gamma * (1 - d) * self.q_t(s2, self.mu_t(s2))
        lq = F.mse_loss(self.q(s, a), y)
        self.oq.zero_grad()
        lq.backward()
        self.oq.step()
        lm = -self.q(s, self.mu(s)).mean()
        self.om.zero_grad()
        lm.backward()
        self.om.step()
        with torch.no_grad():
            for p, t in zip([*self.mu.parameters(), *self.q.parameters()], [*self.mu_t.parameters(), *self.q_t.parameters()]):
                t.mul_(1 - self.tau).add_(self.tau * p)
