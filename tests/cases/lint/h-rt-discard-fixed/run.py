import torch


class Prep:
    def __init__(self, device):
        self.device = device

    def __call__(self, batch):
        x, y = batch
        x = x.to(self.device)
        y = y.to(self.device)
        return x, y


def train(net, dl, opt, device="cuda"):
    prep = Prep(device)
    net.to(device).train()
    for batch in dl:
        x, y = prep(batch)
        loss = torch.nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
