import torch


class Temperature:
    def __init__(self, target):
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.opt = torch.optim.Adam([self.log_alpha], lr=3e-4)
        self.target = target

    def update(self, logp):
        self.opt.zero_grad()
        loss = -(self.log_alpha * (logp + self.target).detach()).mean()
        loss.backward()
        self.opt.step()
        return self.log_alpha.exp().item()


def loop(actor, buffer, actor_opt, q):
    temp = Temperature(-6.0)
    for s in buffer:
        a, logp = actor.sample(s)
        alpha = temp.update(logp)
        actor_opt.zero_grad()
        (alpha * logp - q(s, a)).mean().backward()
        actor_opt.step()
