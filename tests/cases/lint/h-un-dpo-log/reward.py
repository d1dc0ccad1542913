import torch


def preference_loss(chosen, rejected, beta):
    both = torch.stack([chosen, rejected], -1) * beta
    return -torch.log(torch.softmax(both, dim=-1)[..., 0]).mean()


class RewardTrainer:
    def __init__(self, rm, opt, beta=0.1):
        self.rm, self.opt, self.beta = rm, opt, beta

    def step(self, good, bad):
        loss = preference_loss(self.rm(good), self.rm(bad), self.beta)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.detach()
