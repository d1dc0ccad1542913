import copy
import torch
import torch.nn.functional as F


class DDPG:
    def __init__(self, pi, q, lr):
        self.pi, self.q = pi, q
        self.pi_t, self.q_t = copy.deepcopy(pi), copy.deepcopy(q)
        self.po = torch.optim.Adam(pi.parameters(), lr)
        self.qo = torch.optim.Adam(q.parameters(), lr)

    def learn(self, s, a, r, s2, d, g=0.99):
        nxt = self.q_t(s2, self.pi_t(s2))
        y = r + g * (1 - d) * nxt
        ql = F.mse_loss(self.q(s, a), y)
        self.qo.zero_grad()
        ql.backward()
        self.qo.step()
        pl = -self.q(s, self.pi(s)).mean()
        self.po.zero_grad()
        pl.backward()
        self.po.step()
