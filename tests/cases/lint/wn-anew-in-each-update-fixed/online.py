import torch
import torch.nn.functional as F


class Online:
    def __init__(self, net):
        self.net, self.rule = net, None

    def learner(self):
        if self.rule is None:
            self.rule = torch.optim.SGD(self.net.parameters(), lr=0.01, momentum=0.9)
        return self.rule

    def update(self, x, y):
        rule = self.learner()
        rule.zero_grad()
        F.mse_loss(self.net(x), y).backward()
        rule.step()


def stream(net, source):
    online = Online(net)
    for x, y in source:
        online.update(x, y)
