import torch


class Learner:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.RMSprop(net.parameters(), lr=7e-4)

    def learn(self, rollouts):
        for obs, adv in rollouts:
            loss = -(self.net(obs) * adv).mean()
            self.opt.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_value_(self.net.parameters(), 0.5)
            self.opt.step()
