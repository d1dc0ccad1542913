import torch
import torch.nn.functional as F


class SAC:
    def __init__(self, actor, q1, q2, q1_t, q2_t, q_opt, alpha, gamma):
        self.actor, self.q1, self.q2, self.q1_t, self.q2_t = actor, q1, q2, q1_t, q2_t
        self.q_opt, self.alpha, self.gamma = q_opt, alpha, gamma

    def update_critic(self, s, a, r, s2, d):
        a2, logp = self.actor.sample(s2)
        q_next = torch.min(self.q1(s2, a2), self.q2(s2, a2)) - self.alpha * logp
        y = r + self.gamma * (1 - d) * q_next
        loss = F.mse_loss(self.q1(s, a), y) + F.mse_loss(self.q2(s, a), y)
        self.q_opt.zero_grad()
        loss.backward()
        self.q_opt.step()
