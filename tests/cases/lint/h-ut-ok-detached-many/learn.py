import torch
import torch.nn.functional as F


@torch.no_grad()
def n_step_target(slow_q, r, s2, done, gamma):
    return r + gamma * (1 - done) * slow_q(s2).amax(1)


def dqn_step(q, slow_q, opt, batch, gamma=0.99):
    s, a, r, s2, done = batch
    y = n_step_target(slow_q, r, s2, done, gamma)
    loss = F.huber_loss(q(s).gather(1, a.unsqueeze(1)).squeeze(1), y)
    opt.zero_grad()
    loss.backward()
    opt.step()


def critic_step(G, D, real, opt_d, device):
    z = torch.randn(real.size(0), 100, device=device)
    with torch.no_grad():
        fake = G(z)
    d_loss = F.softplus(D(fake)).mean() + F.softplus(-D(real)).mean()
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()


class Distiller:
    def __init__(self, teacher, student, opt):
        self.teacher = teacher.eval().requires_grad_(False)
        self.student, self.opt = student, opt

    def step(self, x, y):
        t = self.teacher(x)
        s = self.student(x)
        loss = F.kl_div(F.log_softmax(s, -1), F.log_softmax(t, -1), log_target=True, reduction="batchmean")
        loss = loss + F.cross_entropy(s, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
